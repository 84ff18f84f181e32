internal import Media
internal import MediaInput
internal import NIOCore
internal import RTP
internal import RTSP
internal import Serving
internal import Streaming
internal import Threading

/// Receiving a stream.
extension RTSPConnectionHandler {
  /// The stream that the client sends.
  struct Publication {
    let input: PublishedInput
    let id: PublisherSlot.ID
    let announcement: RTSPAnnouncement
    var receiver: RTPStreamReceiver
    var transports: [RTSPRecording.Track] = []
    /// Datagrams on their way from the sockets.
    let received = ReceivedDatagrams(maximumByteCount: ReceivedDatagrams.maximumByteCountOfPublisher)
    /// The client's UDP addresses.
    var addresses: [SocketAddress] = []
    /// Sends receiver reports.
    var reporting: RepeatedTask?
  }

  /// Begins the client's publication of the stream, or refuses it.
  func beginPublication(_ announcement: RTSPAnnouncement) {
    // A password may have been compared for a connection that has ended meanwhile.
    guard self.context != nil, let stream = self.directory.outputs.stream(named: announcement.streamName),
      // Also while another source is current.
      let input = stream.videoSources.lazy.compactMap({ PublishedSource.input(of: $0, over: .rtsp) }).first
    else { return self.perform(self.session.publicationRefused(.otherSource)) }
    guard let id = input.begin() else { return self.perform(self.session.publicationRefused(.alreadyPublished)) }
    self.publication = Publication(
      input: input, id: id, announcement: announcement,
      receiver: RTPStreamReceiver(
        ssrc: .random(in: 1...UInt32.max),
        canonicalName: "vidicon-\(String(UInt64.random(in: 0...UInt64.max), radix: 16))"))
    self.parser.limits = .publishers
    for (kind, codec) in announcement.unsupportedCodecs {
      _ = input.reportUnsupported("\(kind) codec \(codec)", of: kind, by: id)
    }
    self.perform(self.session.publicationBegan(now: self.now))
  }

  /// Receives the packets of tracks from now on; those of a publication that goes on after a pause start again.
  func startRecording(_ recording: RTSPRecording) {
    guard var publication, let context else { return }
    self.stopListening(&publication)
    publication.transports = recording.tracks
    var outputs: [RTPStreamReceiver.Output] = []
    var isHeldBack = true
    for track in recording.tracks {
      var isUDP = false
      if case .udp = track.transport { (isUDP, isHeldBack) = (true, false) }
      // Packets of a track that was set up without a format are dropped.
      guard let format = publication.announcement.tracks[track.index].format else { continue }
      // No error: the announcement was accepted with this format.
      outputs += (try? publication.receiver.addTrack(track.index, format: format, reorders: isUDP)) ?? []
    }
    if isHeldBack { publication.input.holdsBack(publication.id) }
    self.listenForDatagrams(of: &publication, context: context)
    let handler = NIOLoopBound(self, eventLoop: context.eventLoop)
    publication.reporting = context.eventLoop.scheduleRepeatedTask(
      initialDelay: Self.reportInterval, delay: Self.reportInterval
    ) { _ in handler.value.sendReceiverReports() }
    self.publication = publication
    self.take(outputs)
  }

  /// Interval between two receiver reports of a track; RFC 3550 §6.2 recommends at least 5 s.
  private static let reportInterval = TimeAmount.seconds(5)

  /// Receives a packet of the connection, or drops it while the client has paused.
  func publish(_ payload: ByteBuffer, track: Int, isRTCP: Bool) {
    self.receive(
      ReceivedDatagrams.Datagram(track: track, isRTCP: isRTCP, payload: payload, arrival: StreamClock.system.now()))
  }

  private func receive(_ datagram: ReceivedDatagrams.Datagram) {
    guard let input = self.publication?.input, let id = self.publication?.id, self.session.isRecording else { return }
    // Another publisher has taken the stream from a silent one.
    guard input.noteActivity(by: id) else { return self.perform(self.session.handlePublicationLost()) }
    do throws(ParsingError) {
      // Unwrapped in place: a copy of the receiver would copy what it has.
      if datagram.isRTCP {
        try self.publication?.receiver.receive(rtcp: datagram.payload, track: datagram.track, at: datagram.arrival)
      } else {
        let outputs = try self.publication?.receiver.receive(
          rtp: datagram.payload, track: datagram.track, at: datagram.arrival)
        self.take(outputs ?? [])
      }
    } catch {
      self.directory.countMalformed()
    }
  }

  private func take(_ outputs: [RTPStreamReceiver.Output]) {
    for output in outputs {
      guard let publication else { return }
      let isAccepted =
        switch output {
        case .description(let description): publication.input.describe(description, by: publication.id)
        case .sample(let sample): publication.input.consume(sample, by: publication.id)
        case .missingKeyframe(let count):
          publication.input.reportMissingKeyframe(dropped: count, by: publication.id)
        }
      // Another publisher has taken the stream from a silent one.
      guard isAccepted else { return self.perform(self.session.handlePublicationLost()) }
    }
  }

  /// Ends the publication, upon which viewers see the slate.
  func stopPublishing() {
    guard var publication else { return }
    self.publication = nil
    self.parser.limits = .players
    self.stopListening(&publication)
    publication.input.end(publication.id)
  }
}

// MARK: UDP and reports

extension RTSPConnectionHandler {
  private func listenForDatagrams(of publication: inout Publication, context: ChannelHandlerContext) {
    guard let sockets = self.directory.sockets else { return }
    let handler = NIOLoopBound(self, eventLoop: context.eventLoop)
    for track in publication.transports {
      guard case .udp(let ports) = track.transport else { continue }
      for (port, isRTCP) in [(ports.rtp, false), (ports.rtcp, true)] {
        guard var address = context.remoteAddress else { continue }
        address.port = Int(port)
        publication.addresses.append(address)
        sockets.register([address], owner: ObjectIdentifier(self)) { [received = publication.received] payload in
          let datagram = ReceivedDatagrams.Datagram(
            track: track.index, isRTCP: isRTCP, payload: payload, arrival: StreamClock.system.now())
          if received.append(datagram) { handler.eventLoop.execute { handler.value.receiveDatagrams() } }
        }
      }
    }
  }

  private func receiveDatagrams() {
    guard let received = self.publication?.received else { return }
    self.session.handleActivity(now: self.now)
    for datagram in self.dequeueAll(of: received) { self.receive(datagram) }
  }

  private func stopListening(_ publication: inout Publication) {
    publication.reporting?.cancel()
    publication.reporting = nil
    self.directory.sockets?.unregister(publication.addresses, owner: ObjectIdentifier(self))
    publication.addresses = []
  }

  private func sendReceiverReports() {
    guard let transports = self.publication?.transports, self.session.isRecording else { return }
    self.writing {
      for track in transports {
        guard
          let report = self.publication?.receiver.makeReport(track: track.index, now: StreamClock.system.now())
        else { continue }
        switch track.transport {
        case .interleaved(let channels):
          // A client that does not read them gets no more.
          if self.isWritable { self.write(ByteBuffer(interleaving: report, channel: channels.rtcp)) }
        case .udp(let ports):
          guard var address = self.context?.remoteAddress else { continue }
          address.port = Int(ports.rtcp)
          self.directory.sockets?.sendRTCP(report, to: .init(address, from: self.context?.localAddress))
        }
      }
    }
  }
}
