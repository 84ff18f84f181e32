internal import Media
internal import NIOCore
internal import RTP

// MARK: Packets

extension WebRTCSession {
  /// Length that header, extensions and tag add to a payload, for the pace: `12 + 4 + 8 + 16`.
  static let packetOverhead = 40

  /// Sends what the pacer releases.
  mutating func send(
    _ release: Pacer<Item>.Release, to address: TransportAddress, into batch: inout DatagramBatch, at now: MediaTime
  ) {
    switch release {
    case .packets(.media(let media), _, let packets, let probe):
      self.send(media, packets, probe: probe, to: address, into: &batch, at: now)
    case .packets(.retransmission(let media, let index, let number), _, _, let probe):
      self.statistics.packetsRetransmitted += 1
      self.sendAgain(media, index: index, number: number, probe: probe, to: address, into: &batch, at: now)
    case .packets(.sealedPacket(let datagram), _, _, _):
      self.statistics.packetsRetransmitted += 1
      self.statistics.packetsSent += 1
      self.statistics.bytesSent += datagram.readableBytes
      batch.append(datagram, to: address)
    case .padding(_, let probe):
      guard let (media, index, number) = self.video?.history.nextPadding() else { return }
      self.sendAgain(media, index: index, number: number, probe: probe, to: address, into: &batch, at: now)
    }
  }

  /// Sends packets of a frame.
  private mutating func send(
    _ media: WebRTCMedia, _ packets: Range<Int>, probe: UInt32, to address: TransportAddress,
    into batch: inout DatagramBatch, at now: MediaTime
  ) {
    if packets.lowerBound == 0 {
      if media.kind == .video { self.video?.note(media, roundTrip: self.statistics.roundTrip, at: now) }
      // Without a report within the first second, clients cannot synchronize the tracks.
      if self.nextReport == nil { self.nextReport = now }
    }
    for index in packets {
      let length = media.payloadLength(index)
      guard
        let (header, writer) = media.kind == .video
          ? self.video?.nextHeader(media, index: index) : self.audio?.nextHeader(media, index: index)
      else { return }
      self.seal(
        media, index: index, header: header, writer: writer, prefix: nil, probe: probe, to: address, into: &batch,
        at: now)
      self.retransmissionCredit = min(self.retransmissionCredit + length / 2, Self.maximumRetransmissionCredit)
    }
  }

  /// Sends a packet again, on the source of retransmissions.
  private mutating func sendAgain(
    _ media: WebRTCMedia, index: Int, number: UInt16, probe: UInt32, to address: TransportAddress,
    into batch: inout DatagramBatch, at now: MediaTime
  ) {
    guard let payloadType = self.video?.track.retransmissionPayloadType,
      let (header, writer) = self.video?.retransmissionHeader(media, index: index, payloadType: payloadType)
    else { return }
    self.seal(
      media, index: index, header: header, writer: writer, prefix: number, probe: probe, to: address, into: &batch,
      at: now)
  }

  /// Seals one packet into the batch.
  ///
  /// - Parameter prefix: Number of the original packet, for one that is sent again.
  private mutating func seal(
    _ media: WebRTCMedia, index: Int, header: RTPHeader, writer: WebRTCHeaderWriter, prefix: UInt16?, probe: UInt32,
    to address: TransportAddress, into batch: inout DatagramBatch, at now: MediaTime
  ) {
    guard let overhead = self.transport.overhead else { return }
    let length = media.payloadLength(index) + (prefix == nil ? 0 : RTPRetransmission.overhead)
    withUnsafeTemporaryAllocation(byteCount: WebRTCHeaderWriter.maximumLength, alignment: 8) { scratch in
      var transportWide: RTPTransportWideSequenceNumber?
      if writer.hasTransportWideNumbers {
        transportWide = self.estimator.send(
          byteCount: length + Self.packetOverhead - 16 + overhead, probe: probe, at: now)
      }
      let headerLength = writer.write(
        header, transportWide: transportWide, isKeyframe: media.kind == .video && media.isKeyframe, at: now,
        into: scratch)
      let total = headerLength + length + overhead
      do throws(SRTPError) {
        try batch.append(length: total, to: address) { (output) throws(SRTPError) in
          let head = UnsafeRawBufferPointer(rebasing: scratch[..<headerLength])
          guard let prefix else {
            try media.withPayload(index) { (payload) throws(SRTPError) in
              try self.transport.seal(header: head, payload: payload, into: output)
            }
            if media.kind == .video {
              self.video?.sealedHistory?.append(header.sequenceNumber, UnsafeRawBufferPointer(output), at: now)
            }
            return
          }
          // Behind the header in the output, which sealing allows.
          let body = UnsafeMutableRawBufferPointer(rebasing: output[headerLength..<headerLength + length])
          body.storeBytes(of: prefix.bigEndian, as: UInt16.self)
          media.withPayload(index) { payload in
            UnsafeMutableRawBufferPointer(rebasing: body[RTPRetransmission.overhead...]).copyMemory(from: payload)
          }
          try self.transport.seal(header: head, payload: UnsafeRawBufferPointer(body), into: output)
        }
        self.statistics.packetsSent += 1
        self.statistics.bytesSent += total
      } catch {
        // Not ready any more, or the library failed: the packet is lost as others are.
        self.statistics.framesDropped += 1
      }
    }
  }

}

// MARK: Reports

extension WebRTCSession {
  /// Sends a report for each track with media, RFC 3550 §6.4.1.
  mutating func sendReport(at now: MediaTime) {
    let unixTime = self.unixTimeAtZero &+ now.nanoseconds
    var packets: [RTCPPacket] = []
    for track in [self.video, self.audio].compactMap(\.self) where track.packetCount > 0 {
      packets.append(.senderReport(track.senderReport(at: now, unixTime: unixTime)))
      packets.append(
        .sourceDescription(RTCPSourceDescription(ssrc: track.track.ssrc, cname: WebRTCAnswer.canonicalName)))
    }
    guard !packets.isEmpty, let address = self.transport.selectedAddress else { return }
    if let reference = self.referenceTime, let ssrc = (self.video ?? self.audio)?.track.ssrc {
      let delay = UInt32(clamping: (now - reference.arrival).ticks(timescale: 65_536))
      packets.append(
        .extendedReport(
          RTCPExtendedReport(
            ssrc: ssrc,
            blocks: [
              .delaySinceLastReceiverReport([
                .init(ssrc: reference.ssrc, lastReceiverReport: reference.middle, delay: delay)
              ])
            ])))
    }
    guard let datagram = try? self.transport.seal(RTCPCompoundPacket(packets)) else { return }
    self.responses.append((datagram, address))
  }
}
