internal import Authentication
internal import Media
internal import MediaInput
internal import NIOCore
internal import NIOPosix
internal import RTMP
internal import Serving
internal import Streaming

/// Channel handler of one RTMP connection: performs the actions of ``RTMPServerSession``.
///
/// Memory per connection is bounded: the handler reads nothing while a request waits for a decision, or the client does not read its
/// responses; what was read before waits in the session, which holds a few reads at most.
final class RTMPConnectionHandler: MediaConnection {
  /// Bytes of unsent responses above which no message is handled, and nothing is read.
  private static let maximumUnsentResponses = 64 * 1024

  private let directory: RTMPDirectory
  private var session: RTMPServerSession
  /// The stream of the accepted request to play.
  private var output: ConnectionOutput<RTMPStreamPacketizer>?
  /// The accepted publication, and what becomes of its messages.
  var publication: Publication?
  var depacketizer = RTMPDepacketizer()

  init(_ directory: RTMPDirectory, _ environment: Environment) {
    self.directory = directory
    self.session = RTMPServerSession(
      now: Self.now(on: environment.eventLoop), makeRandom: { .random(in: 0...UInt64.max) })
    super.init(environment, maximumUnsentResponses: Self.maximumUnsentResponses)
  }

  override func receive(_ bytes: ByteBuffer) {
    self.perform(self.session.receive(bytes, now: self.now, allowance: self.responseAllowance))
    self.holdBack(for: self.publication?.holdTime)
    self.scheduleTimer()
  }

  override func responsesSent() {
    self.perform(self.session.resume(now: self.now, allowance: self.responseAllowance))
    self.holdBack(for: self.publication?.holdTime)
    self.scheduleTimer()
  }

  override var isDeciding: Bool { self.session.isDeciding }

  override var nextDeadline: MediaTime? { self.session.nextDeadline }

  override func handleTimer() {
    self.perform(self.session.handleTimer(now: self.now))
    self.scheduleTimer()
  }

  /// Notifies the client that the stream or the server has ended, and closes the connection.
  override func streamEnded() {
    self.visit?.end = .stream
    self.perform(self.session.handleEnd())
  }

  override func serverStops() {
    self.streamEnded()
  }

  override func ended() {
    self.stopPublishing()
  }
}

// MARK: Requests

extension RTMPConnectionHandler {
  private func perform(_ actions: [RTMPServerAction]) {
    self.perform(actions) { action in
      switch action {
      case .send(let buffer): self.writeResponse(buffer)
      case .decide(let request): self.decide(request)
      case .startPlaying: self.startPlaying()
      case .stopPlaying: self.stopPlaying()
      case .publish(let message): self.publish(message)
      case .stopPublishing: self.stopPublishing()
      case .close(let reason): self.close(for: reason)
      }
    }
  }

  /// Accepts or refuses a request, at once, or when its password is compared and its rendition's encoder is open.
  private func decide(_ request: RTMPStreamRequest) {
    if request.purpose == .publish { return self.decidePublication(request) }
    self.authorize(.watch, request, token: request.token) { handler in
      handler.find(request.paths, in: handler.directory) { handler.decided($0) }
    }
  }

  /// Accepts a publisher with the key of a stream whose source is `rtmp:`, or with a publisher's or operator's token, or an
  /// operator's password.
  private func decidePublication(_ request: RTMPStreamRequest) {
    // Each name is looked up once: a lazy sequence would look again, and trap where the stream has ended meanwhile.
    var match: (stream: LiveStream, secret: Secret?)?
    for (name, secret) in request.publications where match == nil {
      match = self.directory.stream(named: name, isFirstUnnamed: true).map { ($0, secret) }
    }
    guard let (stream, secret) = match else { return self.refuse(.notFound) }
    self.authorize(.publish(stream: stream.name), request, token: secret) { handler in
      // Also while another source is current.
      guard let input = stream.videoSources.lazy.compactMap({ PublishedSource.input(of: $0) }).first else {
        return handler.refuse(.unsupported("the source of this stream is not rtmp:"))
      }
      guard handler.context != nil, let publication = input.begin() else { return handler.refuse(.alreadyPublished) }
      publication.holdsBack()
      handler.prepareForPublisher()
      (handler.publication, handler.depacketizer) = (publication, RTMPDepacketizer())
      let loopBound = NIOLoopBound(handler, eventLoop: handler.eventLoop)
      loopBound.eventLoop.execute { loopBound.value.accept() }
    }
  }

  /// Calls `action` when the client may; refuses it otherwise. A password that has a hash is compared on another thread.
  private func authorize(
    _ permission: Permission, _ request: RTMPStreamRequest, token: Secret?,
    action: @escaping (RTMPConnectionHandler) -> Void
  ) {
    let address = self.context?.remoteAddress?.ipAddress ?? ""
    let method = request.purpose == .publish ? "PUBLISH" : "PLAY"
    var accessRequest = AccessRequest(method: method, token: token?.text, address: address)
    if let login = request.login {
      let isPrivate =
        self.isEncrypted || IPAddress(parsing: address)?.isLoopback == true || self.access.settings.allowsInsecureBasic
      accessRequest = AccessRequest(
        method: method, user: login.user, password: login.password, address: address, isEncrypted: isPrivate)
    }
    guard let check = self.access.passwordCheck(for: accessRequest, now: self.now) else {
      if let refusal = self.refusal(permission, accessRequest) { return self.refuse(refusal) }
      return action(self)
    }
    self.compare(check) { retryDelay in
      var request = accessRequest
      request.refusedCheck = retryDelay
      if let refusal = self.refusal(permission, request) { return self.refuse(refusal) }
      action(self)
    }
  }

  private func refusal(_ permission: Permission, _ request: AccessRequest) -> RTMPRefusal? {
    RTMPRefusal(self.decide(permission, for: request))
  }

  /// Refuses later, so that the session has returned its actions.
  private func refuse(_ refusal: RTMPRefusal) {
    let handler = NIOLoopBound(self, eventLoop: self.eventLoop)
    self.eventLoop.execute { handler.value.decided(refusal: refusal) }
  }

  private func decided(_ output: ConnectionOutput<RTMPStreamPacketizer>?) {
    guard let output else { return self.decided(refusal: .notFound) }
    self.output = output
    self.accept()
  }

  private func accept() {
    self.registration?.setUse(.session)
    self.perform(self.session.accept(now: self.now, allowance: self.responseAllowance))
    self.scheduleTimer()
    self.resumeReading()
  }

  func decided(refusal: RTMPRefusal) {
    self.perform(self.session.refuse(refusal, now: self.now))
    self.scheduleTimer()
    self.resumeReading()
  }

  private func close(for reason: RTMPCloseReason) {
    if case .malformed = reason { self.countMalformed() }
    self.closeAfterWrites()
  }

  func countMalformed() { self.directory.refusals.count(.malformed) }

  private func startPlaying() {
    guard let output, self.viewer == nil else { return }
    self.play(output, of: self.directory)
  }
}
