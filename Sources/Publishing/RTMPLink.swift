internal import Authentication
internal import Media
internal import NIOCore
internal import NIOPosix
internal import NIOSSL
internal import Pushing
internal import RTMP

/// The connections of a push to a server of RTMP.
// Safe because all properties are used on the event loop of the pushes only.
final class RTMPLink: PushLink, @unchecked Sendable {
  private let url: RTMPURL
  private let service: PushService
  private let eventLoop: any EventLoop
  private let allowsLinkLocal: Bool
  private let report: (PushLinkEvent) -> Void

  /// Number of the attempt to connect, so that the events of earlier ones are ignored.
  private var attempt = 0
  private var connection: RTMPPushHandler?
  private var media = PushMedia(bitrates: (nil, nil))
  private var buffer = ByteBuffer()
  /// Redirect target of the next connection; nil for the target's own address.
  private var redirect: RTMPURL?
  /// Address of the current connection or attempt, when a server has named it; nil for the target's own address.
  private var redirected: RTMPURL?
  /// Answer to the server that wants a user and password, for the next connection; and number of such answers in this attempt.
  private var authentication: (answer: Secret?, count: Int) = (nil, 0)

  /// - Parameter report: Called with each event, on the event loop.
  init(
    _ url: RTMPURL, service: PushService, eventLoop: any EventLoop, allowsLinkLocal: Bool,
    report: @escaping (PushLinkEvent) -> Void
  ) {
    self.url = url
    self.service = service
    self.eventLoop = eventLoop
    self.allowsLinkLocal = allowsLinkLocal
    self.report = report
  }

  func connect(_ descriptions: [CodecDescription]) { self.connect() }

  private func connect() {
    self.attempt += 1
    let (attempt, redirect) = (self.attempt, self.redirect.take())
    self.redirected = redirect
    let answer = self.authentication.answer.take()
    if answer == nil { self.authentication.count = 0 }
    let base = redirect ?? self.url
    let url = answer.map { base.authenticated(with: $0) } ?? base
    let timeout = self.service.stepTimeout
    let tls: NIOSSLContext?
    do {
      tls = try url.isEncrypted ? self.service.tlsContext() : nil
    } catch {
      // After this action's turn: the sender is asked again.
      return self.eventLoop.execute { self.ended("TLS cannot be set up", attempt: attempt) }
    }
    // Only the owner chooses a link-local address, not a server.
    let allowsLinkLocal = self.allowsLinkLocal && redirect == nil
    let bootstrap = ClientBootstrap(group: self.eventLoop)
      .connectTimeout(.nanoseconds(timeout.nanoseconds))
      .channelOption(.socketOption(.tcp_nodelay), value: 1)
      .channelInitializer { [weak self] channel in
        channel.eventLoop.makeCompletedFuture {
          if !allowsLinkLocal { try channel.pipeline.syncOperations.addHandler(LinkLocalGuard()) }
          if let tls {
            // An IP address is verified as such, and has no place in SNI (RFC 6066 §3).
            let name = IPAddress(parsing: url.host) == nil ? url.host : nil
            try channel.pipeline.syncOperations.addHandler(NIOSSLClientHandler(context: tls, serverHostname: name))
          }
          let handler = RTMPPushHandler(url: url, timeout: timeout) { [weak self] event in
            self?.handle(event, attempt: attempt)
          }
          if let self, self.attempt == attempt { self.connection = handler }
          try channel.pipeline.syncOperations.addHandler(handler)
        }
      }
    bootstrap.connect(host: url.host, port: Int(url.port)).whenComplete { [weak self] result in
      switch result {
      case .success(let channel):
        // The push has given this attempt up meanwhile.
        if self?.attempt != attempt { channel.close(promise: nil) }
      case .failure(let error): self?.ended(PushFailure.text(of: error), attempt: attempt)
      }
    }
  }

  private func handle(_ event: RTMPPushHandler.Event, attempt: Int) {
    guard attempt == self.attempt else { return }
    switch event {
    case .accepted: self.report(.accepted)
    case .reconnectRequested(let url):
      self.follow(url)
      self.report(.reconnectRequested)
    case .ended(let reason, let redirect):
      self.follow(redirect)
      self.ended(reason, attempt: attempt)
    case .authenticationRequested(let answer):
      // Two answers complete it.
      guard self.authentication.count < 2 else {
        return self.ended("the server does not accept the user and password", attempt: attempt)
      }
      self.authentication = (answer, self.authentication.count + 1)
      _ = self.takeConnection()
      self.redirect = self.redirected
      self.connect()
    }
  }

  /// Makes the next connection at the URL that a server names, unless it is not to be followed.
  private func follow(_ url: String?) {
    self.redirect = url.flatMap { (self.redirected ?? self.url).redirected(to: $0) }
  }

  /// Removes the current connection, or attempt, which has ended, and reports its end.
  private func ended(_ reason: String, attempt: Int) {
    guard attempt == self.attempt else { return }
    _ = self.takeConnection()
    self.report(.ended(reason))
  }

  /// Removes the current connection, whose events are ignored from now on.
  private func takeConnection() -> RTMPPushHandler? {
    self.attempt += 1
    self.buffer.clear()
    return self.connection.take()
  }
}

// MARK: Media

extension RTMPLink {
  func begin(bitrate: Int, audioBitrate: Int?) { self.media = PushMedia(bitrates: (bitrate, audioBitrate)) }

  func configure(_ descriptions: [CodecDescription]) { self.media.configure(descriptions) }

  func write(_ sample: EncodedSample) {
    for message in self.media.messages(for: sample) { self.connection?.write(message, into: &self.buffer) }
  }

  func flush() {
    guard self.buffer.readableBytes > 0 else { return }
    self.connection?.send(self.buffer)
    self.buffer = ByteBuffer()
  }

  func finish() { self.takeConnection()?.finish() }

  func abort() { self.takeConnection()?.abort() }

  /// Without effect: a connection over TCP cannot drop what the system holds.
  func discardEarlier() {}

  /// Without effect: only the metadata at the beginning has a bitrate.
  func follow(bitrate: Int, maximum: Int) {}

  var unsentByteCount: Int { self.connection?.unsentByteCount ?? 0 }

  var roundTripTime: MediaDuration { self.connection?.roundTripTime ?? .zero }

  var estimate: Int? { nil }

  var droppedFrames: Int { 0 }

  var farewell: EventLoopFuture<Void> { self.eventLoop.makeSucceededVoidFuture() }
}
