internal import Authentication
internal import Media
internal import NIOCore
package import RTMP
package import Serving

/// The connections of a push to a server of RTMP.
// Safe because all properties are used on the event loop of the pushes only.
final class RTMPLink: PushLink, @unchecked Sendable {
  private let url: RTMPURL
  private let connector: PushConnector
  private let report: (PushLinkEvent) -> Void

  /// Number of the attempt to connect, so that the events of earlier ones are ignored.
  private var attempt = 0
  private var connection: RTMPPushHandler?
  private var media = RTMPPushMedia(bitrates: (nil, nil))
  private var buffer = ByteBuffer()
  /// Redirect target of the next connection; nil for the target's own address.
  private var redirect: RTMPURL?
  /// Address of the current connection or attempt, when a server has named it; nil for the target's own address.
  private var redirected: RTMPURL?
  /// Answer to the server that wants a user and password, for the next connection; and number of such answers in this attempt.
  private var authentication: (answer: Secret?, count: Int) = (nil, 0)

  /// - Parameter report: Called with each event, on the event loop.
  init(_ url: RTMPURL, connector: PushConnector, report: @escaping (PushLinkEvent) -> Void) {
    self.url = url
    self.connector = connector
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
    let timeout = self.connector.stepTimeout
    self.connector.connect(
      to: url.host, port: url.port, isEncrypted: url.isEncrypted, isNamedByServer: redirect != nil, timeout: timeout
    ) { [weak self] channel in
      let handler = RTMPPushHandler(url: url, timeout: timeout) { [weak self] event in
        self?.handle(event, attempt: attempt)
      }
      if let self, self.attempt == attempt { self.connection = handler }
      try channel.pipeline.syncOperations.addHandler(handler)
    }.whenComplete { [weak self] result in
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
  func begin(bitrate: Int, audioBitrate: Int?) { self.media = RTMPPushMedia(bitrates: (bitrate, audioBitrate)) }

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

  static let hasEstimate = false

  var estimate: Int? { nil }

  var droppedFrames: Int { 0 }

  var farewell: EventLoopFuture<Void> { self.connector.eventLoop.makeSucceededVoidFuture() }
}

extension PushConnector {
  /// Makes the link of a push to a server of RTMP.
  ///
  /// - Parameter report: Called with each event, on the event loop.
  package func rtmpLink(to url: RTMPURL, report: @escaping (PushLinkEvent) -> Void) -> any PushLink {
    RTMPLink(url, connector: self, report: report)
  }
}

extension PushFailure {
  /// The line of a server's refusal.
  static func text(of failure: RTMPClientFailure) -> String {
    let detail = failure.code.isEmpty ? "" : " (\(failure.code))"
    switch failure.step {
    case .handshake: return "no RTMP server there: \(failure.description)"
    case .connect: return "the application is refused: \(failure.description)\(detail)"
    case .createStream: return "no stream is created: \(failure.description)\(detail)"
    case .request: return "the stream key is refused: \(failure.description)\(detail)"
    case .streaming: return "\(failure.description)\(detail)"
    }
  }
}
