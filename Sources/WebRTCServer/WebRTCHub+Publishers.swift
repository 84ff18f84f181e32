internal import Authentication
internal import Bitstreams
internal import Media
internal import MediaInput
internal import NIOCore
internal import RTP
internal import Serving
internal import Streaming
internal import WebRTC

// MARK: Sessions of publishers

extension WebRTCHub {
  /// Interval at which the counters of a publisher are noted for other threads.
  private static let noteInterval = MediaDuration.seconds(1)
  /// Minimum bitrate that publishers are limited to, in bits per second.
  private static let minimumBitrateLimit = 1_500_000

  /// Decides about an offer before its body is read.
  func admitPublication(of stream: LiveStream, takesOver: Bool) throws(WebRTCRefusal) {
    self.eventLoop.preconditionInEventLoop()
    let now = self.now
    do throws(WHIPEndpoint.Taken) {
      try self.publishers.withEndpoint(of: stream, at: now) { (endpoint) throws(WHIPEndpoint.Taken) in
        try endpoint.admit(takesOver: takesOver, at: now)
      }
    } catch {
      throw .taken(retryAfter: error.retryAfter)
    }
  }

  /// Answers the offer of a publisher, and gives the stream to its session.
  ///
  /// - Parameters:
  ///   - input: The stream's source.
  ///   - candidates: Where this server is reached, the best address first; at least one.
  func openPublication(
    of stream: LiveStream, _ input: PublishedInput, _ offer: WebRTCOffer, takesOver: Bool,
    candidates: [TransportAddress]
  ) throws(WebRTCRefusal) -> WHEPSession {
    self.eventLoop.preconditionInEventLoop()
    let makeRandom: @Sendable () -> UInt64 = { .random(in: 0...UInt64.max) }
    let credentials = ICECredentials(makeRandom: makeRandom)
    // More would be lost when the video is encoded again.
    let bitrate = max(stream.videoBitrate * 2, Self.minimumBitrateLimit)
    let answer: WebRTCPublishAnswer
    do throws(WebRTCAnswer.Refusal) {
      answer = try WebRTCPublishAnswer(
        offer,
        WebRTCPublishAnswer.Configuration(
          sessionID: makeRandom() >> 2, credentials: credentials, fingerprint: self.fingerprint,
          candidates: candidates, maximumVideoBitrate: bitrate))
    } catch {
      throw WebRTCRefusal(error)
    }
    guard let clientCredentials = answer.clientTransport.credentials else {
      throw .malformed("the offer has no ICE credentials")
    }
    let (id, number) = try self.addPublisherSession(credentials)
    let now = self.now
    let displaced: String?
    do throws(WHIPEndpoint.Taken) {
      displaced = try self.publishers.withEndpoint(of: stream, at: now) { (endpoint) throws(WHIPEndpoint.Taken) in
        try endpoint.open(id, takesOver: takesOver, at: now)
      }
    } catch {
      self.table.remove(id)
      throw .taken(retryAfter: error.retryAfter)
    }
    if let displaced = displaced.flatMap({ self.publishers[$0] }) { self.close(displaced) }
    let publisher = WebRTCPublisher(
      id: id, stream: stream, input: input,
      session: WebRTCPublisherSession(
        answer, credentials: credentials, client: clientCredentials, number: number, security: self.security,
        maximumVideoBitrate: bitrate,
        makeRandom: makeRandom, at: now),
      ice: ICESessionParameters(
        credentials: credentials, clientFragment: clientCredentials.usernameFragment, candidates: candidates,
        videoMid: answer.video?.mid, audioMid: answer.audio?.mid),
      answer: answer)
    self.publishers.add(publisher)
    self.settle(publisher)
    self.flush()
    var text = ByteBuffer()
    answer.description.serialize(into: &text)
    return WHEPSession(id: id, entityTag: publisher.ice.entityTag, answer: text)
  }

  /// Acknowledges a publisher's candidates, which an ICE lite agent does not use, or restarts ICE.
  func changePublication(
    _ id: String, of name: String, _ fragment: TrickleFragment, entityTags: String?
  ) throws(WebRTCRefusal) -> WHEPChange {
    self.eventLoop.preconditionInEventLoop()
    guard let publisher = self.publishers[id], publisher.stream.name == name else { throw .notFound }
    guard let credentials = try self.restart(id, &publisher.ice, fragment, entityTags: entityTags) else {
      return .candidates
    }
    publisher.session.restart(credentials: credentials.server, client: credentials.client, at: self.now)
    self.settle(publisher)
    self.flush()
    return .restarted(fragment: ByteBuffer(string: publisher.ice.fragment), entityTag: publisher.ice.entityTag)
  }

  /// Ends a session, and notifies its publisher.
  ///
  /// - Returns: Whether there was one of this stream.
  func closePublication(_ id: String, of name: String) -> Bool {
    self.eventLoop.preconditionInEventLoop()
    guard let publisher = self.publishers[id], publisher.stream.name == name else { return false }
    self.close(publisher)
    self.flush()
    return true
  }

  /// Ends the publishers of a stream that has ended, or all; the caller sends what they leave.
  func closePublishers(of stream: LiveStream? = nil) {
    for publisher in self.publishers.all(of: stream) { self.close(publisher) }
    if let stream { self.publishers.remove(stream) }
  }

  func close(_ publisher: WebRTCPublisher) {
    publisher.session.close(at: self.now)
    self.settle(publisher)
  }
}

// MARK: Media of publishers

extension WebRTCHub {
  /// Processes a datagram of a publisher; ``flush()`` follows.
  func receive(_ datagram: ByteBuffer, from source: TransportAddress, of publisher: WebRTCPublisher) {
    publisher.session.handle(datagram, from: source, at: self.now)
    self.settle(publisher)
  }

  /// Does what the events of a session mean, and drains it.
  private func settle(_ publisher: WebRTCPublisher) {
    while let event = publisher.session.nextEvent() {
      switch event {
      case .checked(let address): self.table.expect(address, of: publisher.id)
      case .valid(let address): self.table.bind(address, to: publisher.id, at: self.now)
      case .invalid(let address): self.table.unbind(address, from: publisher.id)
      case .ready: self.begin(publisher)
      case .frame(let frame): self.consume(frame, of: publisher)
      case .refused(let width, let height):
        self.report(
          "WebRTC of \(publisher.stream.name): a publisher sends \(width)×\(height), which is too large: choose a smaller size "
            + "there")
      case .closed(let reason): self.remove(publisher, reason)
      }
    }
    publisher.session.drain(into: &self.batch)
    guard self.publishers[publisher.id] != nil else { return }
    self.note(publisher)
    self.setTimer(of: publisher)
  }

  /// Lets a publisher have the source: media may follow.
  private func begin(_ publisher: WebRTCPublisher) {
    publisher.wasReady = true
    let (eventLoop, id) = (self.eventLoop, publisher.id)
    publisher.publication = publisher.input.begin(requestKeyframe: { [weak self] in
      eventLoop.execute { [weak self] in self?.requestKeyframe(ofPublisher: id) }
    })
    // The endpoint has one session at a time: a source that is taken is one that another server gives publishers to.
    if publisher.publication == nil { publisher.session.close(at: self.now) }
  }

  private func requestKeyframe(ofPublisher id: String) {
    guard let publisher = self.publishers[id] else { return }
    publisher.session.requestKeyframe(at: self.now)
    self.settle(publisher)
    self.flush()
  }

  private func consume(_ frame: WebRTCReceivedFrame, of publisher: WebRTCPublisher) {
    guard let publication = publisher.publication else { return }
    self.publishers.handleMedia(of: publisher, at: self.now)
    var isAccepted = true
    var sample = EncodedSample(
      kind: .video, payload: frame.payload, presentationTime: frame.presentationTime, duration: .zero,
      isKeyframe: frame.isKeyframe)
    switch frame.content {
    case .h264(let description):
      if let description {
        self.note(PublishedShape(width: description.width, height: description.height), of: publisher)
        isAccepted = publication.describe(codec: .h264(description))
      }
    case .vp8(let size):
      if let size {
        self.note(PublishedShape(width: size.width, height: size.height), of: publisher)
        isAccepted = publication.describe(codec: .vp8(width: size.width, height: size.height))
      }
    case .opus(let duration):
      (sample.kind, sample.duration) = (.audio, duration)
      if !publisher.isAudioDescribed {
        publisher.isAudioDescribed = true
        isAccepted = publication.describe(codec: .opus)
      }
    }
    if !isAccepted || !publication.consumeTimed(sample) { publisher.session.close(at: self.now) }
  }

  /// Reports the first shape of a stream's publishers that is not the stream's.
  private func note(_ shape: PublishedShape, of publisher: WebRTCPublisher) {
    let stream = publisher.stream
    guard !self.publishers.isShapeReported(of: stream), let advice = shape.advice(for: stream) else { return }
    self.publishers.noteShapeReport(of: stream)
    self.report("WebRTC of \(stream.name): \(advice)")
  }

  private func remove(_ publisher: WebRTCPublisher, _ reason: WebRTCTransport.CloseReason) {
    publisher.timer?.task.cancel()
    publisher.timer = nil
    self.table.remove(publisher.id)
    self.publishers.remove(publisher, at: self.now)
    publisher.publication?.end(error: reason == .consentExpired ? Self.silent : nil)
    publisher.publication = nil
    guard !publisher.wasReady, reason != .closedByServer, reason != .closedByClient else { return }
    let candidates = publisher.ice.candidates.map(\.description).joined(separator: ", ")
    self.report(
      "WebRTC of \(publisher.stream.name): \(reason.textOfPublisher); its answer named \(candidates), and "
        + (publisher.session.checkCount == 0
          ? "no check of it arrived: open this UDP port, or give the address that clients reach with --ice-address"
          : "\(publisher.session.checkCount) checks of it arrived"))
  }

  private static let silent = VidiconError(
    .timedOut, subject: "publisher", cause: "nothing has arrived from it for a while",
    nextStep: "check its network, and let it publish again")

  private func note(_ publisher: WebRTCPublisher) {
    let now = self.now
    if let next = publisher.nextNote, now < next { return }
    publisher.nextNote = now + Self.noteInterval
    self.publishers.note(publisher.stream, at: now)
  }

  /// Looks at a session at its deadline. Requests for lost packets and feedback do not wait for the tick of viewers.
  private func setTimer(of publisher: WebRTCPublisher) {
    guard let deadline = publisher.session.nextDeadline else { return }
    let now = self.now
    let due = max(deadline, now + Self.minimumWait)
    if let timer = publisher.timer, timer.time <= due { return }
    publisher.timer?.task.cancel()
    let id = publisher.id
    let task = self.eventLoop.scheduleTask(in: .nanoseconds((due - now).nanoseconds)) {
      self.handleTimer(ofPublisher: id)
    }
    publisher.timer = (due, task)
  }

  private func handleTimer(ofPublisher id: String) {
    guard let publisher = self.publishers[id] else { return }
    publisher.timer = nil
    let now = self.now
    if let deadline = publisher.session.nextDeadline, now >= deadline { publisher.session.handleTimeout(at: now) }
    self.settle(publisher)
    self.flush()
  }
}

extension WebRTCRefusal {
  /// The refusal of a publisher's offer.
  fileprivate init(_ refusal: WebRTCAnswer.Refusal) {
    switch refusal {
    case .nothingFits, .receivesNothing, .packetizationMode, .profile, .level: self = .nothingReceivable
    case .noTransport: self = .malformed("the offer has no ICE credentials, or no fingerprint of SHA-2")
    case .holdsConnection: self = .malformed(Self.held)
    }
  }
}

extension WebRTCTransport.CloseReason {
  /// The reason for which a publisher's session ended, for the owner.
  fileprivate var textOfPublisher: String {
    switch self {
    case .neverChecked: "a publisher did not reach this machine"
    case .consentExpired: "a publisher fell silent before its connection was made"
    case .setupTimedOut: "a publisher did not finish its connection within 30 s"
    case .closedByClient: "a publisher left"
    case .closedByServer: "the session of a publisher ended"
    case .wrongFingerprint: "a publisher has another certificate than it offered"
    case .dtlsFailed: "the DTLS handshake with a publisher failed"
    }
  }
}
