import Authentication
import Containers
import Media
import NIOCore
import RTMP

/// Invariants of RTMP for any bytes of a peer.
///
/// The first four bytes select the side and how the rest is split into reads; all others are the connection's bytes.
struct RTMPFuzzCase {
  private let input: ByteBuffer

  init(_ input: ByteBuffer) {
    self.input = input
  }

  /// A connection: handshake, chunks, control messages and commands.
  func checkConnection() {
    let view = self.input.readableBytesView
    var random = view.prefix(4).reduce(UInt64(0x9e37_79b9_7f4a_7c15)) { $0 &* 31 &+ UInt64($1) } | 1
    let options = view.first ?? 0
    let bytes = ByteBuffer(bytes: view.dropFirst(4))
    if let text = String(validating: bytes.readableBytesView, as: UTF8.self), let url = try? RTMPURL(parsing: text),
      // The query of an application without a key would take the key up.
      !url.application.contains("?")
    {
      precondition((try? RTMPURL(parsing: url.connectionURL + "/k"))?.connectionURL == url.connectionURL)
    }
    if let text = String(validating: bytes.readableBytesView, as: UTF8.self) {
      for url in Self.targets { Self.checkRedirect(of: url, to: text) }
    }
    let whole = Self.messages(bytes, piece: { .max })
    precondition(whole == Self.messages(bytes, piece: { Self.next(&random, upTo: 64) }), "pieces change what is read")
    for message in whole {
      Self.checkRoundTrip(message)
      _ = try? RTMPCommand(parsing: message)
      _ = try? RTMPMetadata(parsing: message)
    }
    var depacketizer = RTMPDepacketizer()
    for message in whole { _ = try? depacketizer.depacketize(message) }
    // Seeds need no handshake: that of an attentive client is put before the bytes.
    var connection = ByteBuffer()
    if options & 1 == 0 { connection.writeBytes([3] + [UInt8](repeating: 0, count: 2 * 1536)) }
    connection.writeImmutableBuffer(bytes)
    if options & 2 == 0 {
      Self.serve(connection, accepts: options & 4 == 0, random: &random)
    } else {
      Self.ask(Self.targets[options & 8 == 0 ? 0 : 1], connection, publishes: options & 4 == 0, random: &random)
    }
  }

  private static func messages(_ bytes: ByteBuffer, piece: () -> Int) -> [RTMPMessage] {
    let limits = RTMPChunkReader.Limits(messageLength: 4096)
    var reader = RTMPChunkReader(limits: limits)
    var rest = bytes
    var messages: [RTMPMessage] = []
    while rest.readableBytes > 0 {
      reader.append(rest.readSlice(length: min(piece(), rest.readableBytes)) ?? ByteBuffer())
      while let message = (try? reader.next()) ?? nil { messages.append(message) }
      precondition(reader.heldByteCount <= limits.unfinishedLength + 24, "more is held than the limits say")
    }
    return messages
  }

  private static func checkRoundTrip(_ message: RTMPMessage) {
    var buffer = ByteBuffer()
    var writer = RTMPChunkWriter()
    let length = writer.length(of: message)
    writer.write(message, into: &buffer)
    precondition(buffer.readableBytes == length, "a message has another length")
    precondition(Self.messages(buffer, piece: { .max }) == [message], "a message changes on the way")
  }

  private static func serve(_ bytes: ByteBuffer, accepts: Bool, random: inout UInt64) {
    var session = RTMPServerSession(now: .zero, makeRandom: { 1 })
    var rest = bytes
    var (isPlaying, isPublishing, isClosed) = (false, false, false)
    func note(_ actions: [RTMPServerAction]) {
      for action in actions {
        precondition(!isClosed, "something happens after the end")
        switch action {
        case .send: break
        case .decide: precondition(!isPlaying && !isPublishing, "a stream is requested twice")
        case .startPlaying:
          precondition(!isPlaying, "a stream is joined twice")
          isPlaying = true
        case .stopPlaying:
          precondition(isPlaying, "a stream is left that was not joined")
          isPlaying = false
        case .publish: precondition(isPublishing, "media without a publisher")
        case .stopPublishing:
          precondition(isPublishing, "a publisher ends that was not accepted")
          isPublishing = false
        case .close:
          precondition(!isPlaying && !isPublishing, "a closed connection stays with the stream")
          isClosed = true
        }
      }
    }
    var now = MediaTime.zero
    while rest.readableBytes > 0, !isClosed {
      note(
        session.receive(
          rest.readSlice(length: min(Self.next(&random, upTo: 2000), rest.readableBytes)) ?? rest, now: now))
      while session.isDeciding {
        guard accepts else {
          note(session.refuse(.notFound, now: now))
          break
        }
        isPublishing = session.willPublish
        note(session.accept(now: now))
      }
      now += .milliseconds(Int64(Self.next(&random, upTo: 100)))
      note(session.handleTimer(now: now))
    }
    note(session.handleEnd())
    precondition(isClosed && session.nextDeadline == nil, "a connection stays")
  }

  /// Addresses of a client: without a login, and with one and encryption.
  private static let targets = ["rtmp://h/app/key", "rtmps://anna:s3same@[::1]:1/app/in?a=b/key"].map { text in
    guard let url = try? RTMPURL(parsing: text) else { preconditionFailure("valid") }
    return url
  }

  /// The address to which a server redirects keeps the key and the login, and loses no encryption.
  private static func checkRedirect(of url: RTMPURL, to text: String) {
    guard let redirected = url.redirected(to: text) else { return }
    precondition(redirected.key == url.key && redirected.login == url.login, "another stream is sent")
    precondition(redirected.isEncrypted || !url.isEncrypted, "the key is sent without encryption")
  }

  /// Runs a client, and again with the answer to a server that wants a user and password, to which the server says the same.
  private static func ask(_ target: RTMPURL, _ bytes: ByteBuffer, publishes: Bool, random: inout UInt64) {
    var url: RTMPURL? = target
    for _ in 0..<3 {
      guard let current = url else { return }
      url = self.answer(of: current, bytes, publishes: publishes, random: &random)
    }
    precondition(url == nil, "a login is answered for ever")
  }

  /// Runs a client until its end.
  ///
  /// - Returns: The address of the next connection, with the answer to a server that wants a user and password; nil where the server
  ///   wants none.
  private static func answer(
    of url: RTMPURL, _ bytes: ByteBuffer, publishes: Bool, random: inout UInt64
  ) -> RTMPURL? {
    var session = RTMPClientSession(url: url, purpose: publishes ? .publish : .play, now: .zero, makeRandom: { 1 })
    var isClosed = false
    var next: RTMPURL?
    func note(_ actions: [RTMPClientSession.Action]) {
      for action in actions {
        precondition(!isClosed, "something happens after the end")
        if case .reconnect(let text?) = action { Self.checkRedirect(of: url, to: text) }
        guard case .close(let failure) = action else { continue }
        precondition(failure.description.count <= 256, "the reason is long")
        for secret in ["key", "s3same"] { precondition(!failure.description.contains(secret), "a secret is shown") }
        if let text = failure.redirect { Self.checkRedirect(of: url, to: text) }
        if let answer = failure.authentication {
          let authenticated = url.authenticated(with: answer)
          precondition(authenticated.key == url.key && authenticated.address == url.address, "another stream is sent")
          precondition(authenticated.connectionURL.hasSuffix(answer.text), "the answer is not sent")
          next = authenticated
        }
        isClosed = true
      }
    }
    note(session.start(now: .zero))
    var rest = bytes
    while let piece = rest.readSlice(length: min(Self.next(&random, upTo: 2000), rest.readableBytes)),
      piece.readableBytes > 0
    {
      note(session.receive(piece, now: .zero))
    }
    note(session.finish())
    precondition(isClosed && session.nextDeadline == nil, "a connection stays")
    return next
  }

  /// Values of AMF 0 and AMF 3; the first byte selects.
  func checkValues() {
    var bytes = self.input
    guard let selector = bytes.readInteger(as: UInt8.self) else { return }
    if selector & 1 != 0 {
      var reader = AMF3Reader(bytes)
      while let value = try? reader.next(), reader.unread.readableBytes > 0 { Self.checkValue(value) }
      return
    }
    for value in (try? AMF0Reader.values(parsing: bytes)) ?? [] { Self.checkValue(value) }
  }

  /// Checks that a value is the same once it is written and read; the bytes are compared, since a NaN equals nothing.
  private static func checkValue(_ value: AMFValue) {
    var first = ByteBuffer()
    value.serialize(into: &first)
    // References of AMF 3 may repeat a long text until it exceeds the limits of a message.
    guard first.readableBytes < 1 << 20 else { return }
    var limits = AMFLimits()
    limits.values = 1 << 16
    guard let again = try? AMF0Reader.values(parsing: first, limits: limits), again.count == 1 else {
      preconditionFailure("what is written is read")
    }
    var second = ByteBuffer()
    again[0].serialize(into: &second)
    precondition(first == second, "what is written stays")
  }

  /// Bodies and headers of FLV tags; the first byte selects.
  func checkTags() {
    var bytes = self.input
    guard let selector = bytes.readInteger(as: UInt8.self) else { return }
    switch selector % 3 {
    case 0:
      guard let tag = try? FLVVideoTag(parsing: bytes), tag != .ignored else { return }
      var written = ByteBuffer()
      tag.serialize(into: &written)
      precondition((try? FLVVideoTag(parsing: written)) == tag, "what is written parses the same")
    case 1:
      guard let tag = try? FLVAudioTag(parsing: bytes), tag != .ignored, tag != .endOfSequence else { return }
      var written = ByteBuffer()
      tag.serialize(into: &written)
      precondition((try? FLVAudioTag(parsing: written)) == tag, "what is written parses the same")
    default:
      guard let header = try? FLVTagHeader(parsing: &bytes) else { return }
      var written = ByteBuffer()
      header.serialize(into: &written)
      precondition((try? FLVTagHeader(parsing: &written)) == header, "what is written parses the same")
    }
  }

  /// A number from 1 to `maximum`: xorshift64, Marsaglia 2003.
  private static func next(_ state: inout UInt64, upTo maximum: Int) -> Int {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return Int(state % UInt64(maximum)) + 1
  }
}
