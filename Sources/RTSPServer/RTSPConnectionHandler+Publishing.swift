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
  struct Reception {
    let publication: Publication
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
    guard let publication = input.begin() else {
      return self.perform(self.session.publicationRefused(.alreadyPublished))
    }
    self.reception = Reception(
      publication: publication, announcement: announcement,
      receiver: RTPStreamReceiver(
        ssrc: .random(in: 1...UInt32.max),
        canonicalName: "vidicon-\(String(UInt64.random(in: 0...UInt64.max), radix: 16))"))
    self.parser.limits = .publishers
    self.prepareForPublisher()
    _ = publication.receive(
      announcement.unsupportedCodecs.map { .unsupported($0, codec: "\($0) codec \($1)") })
    self.perform(self.session.publicationBegan(now: self.now))
  }

  /// Receives the packets of tracks from now on; those of a publication that goes on after a pause start again.
  func startRecording(_ recording: RTSPRecording) {
    guard var reception, let context else { return }
    self.stopListening(&reception)
    reception.transports = recording.tracks
    var contents: [ReceivedMedia] = []
    var isHeldBack = true
    for track in recording.tracks {
      var isUDP = false
      if case .udp = track.transport { (isUDP, isHeldBack) = (true, false) }
      // Packets of a track that was set up without a format are dropped.
      guard let format = reception.announcement.tracks[track.index].format else { continue }
      // No error: the announcement was accepted with this format.
      contents += (try? reception.receiver.addTrack(track.index, format: format, reorders: isUDP)) ?? []
    }
    if isHeldBack { reception.publication.holdsBack() }
    self.listenForDatagrams(of: &reception, context: context)
    let handler = NIOLoopBound(self, eventLoop: context.eventLoop)
    reception.reporting = context.eventLoop.scheduleRepeatedTask(
      initialDelay: Self.reportInterval, delay: Self.reportInterval
    ) { _ in handler.value.sendReceiverReports() }
    self.reception = reception
    if !contents.isEmpty { self.pass(contents, to: reception.publication) }
  }

  /// Interval between two receiver reports of a track; RFC 3550 §6.2 recommends at least 5 s.
  private static let reportInterval = TimeAmount.seconds(5)

  /// Receives a packet of the connection, or drops it while the client has paused.
  func publish(_ payload: ByteBuffer, track: Int, isRTCP: Bool) {
    self.receive(
      ReceivedDatagrams.Datagram(track: track, isRTCP: isRTCP, payload: payload, arrival: StreamClock.system.now()))
  }

  private func receive(_ datagram: ReceivedDatagrams.Datagram) {
    guard let publication = self.reception?.publication, self.session.isRecording else { return }
    var contents: [ReceivedMedia] = []
    do throws(ParsingError) {
      // Unwrapped in place: a copy of the receiver would copy what it has.
      if datagram.isRTCP {
        try self.reception?.receiver.receive(rtcp: datagram.payload, track: datagram.track, at: datagram.arrival)
      } else {
        contents =
          try self.reception?.receiver.receive(rtp: datagram.payload, track: datagram.track, at: datagram.arrival) ?? []
      }
    } catch {
      self.directory.countMalformed()
    }
    self.pass(contents, to: publication)
  }

  private func pass(_ contents: [ReceivedMedia], to publication: Publication) {
    // Another publisher has taken the stream from a silent one.
    if !publication.receive(contents) { self.perform(self.session.handlePublicationLost()) }
  }

  /// Ends the publication, upon which viewers see the slate.
  func stopPublishing() {
    guard var reception else { return }
    self.reception = nil
    self.parser.limits = .players
    self.stopListening(&reception)
    reception.publication.end()
  }
}

// MARK: UDP and reports

extension RTSPConnectionHandler {
  private func listenForDatagrams(of reception: inout Reception, context: ChannelHandlerContext) {
    guard let sockets = self.directory.sockets else { return }
    let handler = NIOLoopBound(self, eventLoop: context.eventLoop)
    for track in reception.transports {
      guard case .udp(let ports) = track.transport else { continue }
      for (port, isRTCP) in [(ports.rtp, false), (ports.rtcp, true)] {
        guard var address = context.remoteAddress else { continue }
        address.port = Int(port)
        reception.addresses.append(address)
        sockets.register([address], owner: ObjectIdentifier(self)) { [received = reception.received] payload in
          let datagram = ReceivedDatagrams.Datagram(
            track: track.index, isRTCP: isRTCP, payload: payload, arrival: StreamClock.system.now())
          if received.append(datagram) { handler.eventLoop.execute { handler.value.receiveDatagrams() } }
        }
      }
    }
  }

  private func receiveDatagrams() {
    guard let received = self.reception?.received else { return }
    self.session.handleActivity(now: self.now)
    for datagram in self.dequeueAll(of: received) { self.receive(datagram) }
  }

  private func stopListening(_ reception: inout Reception) {
    reception.reporting?.cancel()
    reception.reporting = nil
    self.directory.sockets?.unregister(reception.addresses, owner: ObjectIdentifier(self))
    reception.addresses = []
  }

  private func sendReceiverReports() {
    guard let transports = self.reception?.transports, self.session.isRecording else { return }
    self.writing {
      for track in transports {
        guard
          let report = self.reception?.receiver.makeReport(track: track.index, now: StreamClock.system.now())
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
