internal import Authentication
import NIOCore

/// The start line and headers of a message while its lines come in.
struct RTSPMessageHead {
  private enum Start {
    case request(RTSPMethod, uri: String)
    case response(RTSPStatus, reasonPhrase: String)
  }

  private let limits: RTSPMessageParser.Limits
  private var start: Start?
  private var headers = RTSPHeaders()
  /// Header lines read, the bad and the left out ones included.
  private var headerCount = 0
  /// Bytes of the last header line and the lines that continue it, their ends included.
  private var headerBytes = 0
  private var contentLength: Int?
  /// The last line read was `Content-Length`, which cannot be continued.
  private var endsWithContentLength = false
  /// The first error that does not hide the end of the message.
  private var error: RTSPError.Code?

  init(limits: RTSPMessageParser.Limits) {
    self.limits = limits
  }

  /// The bytes that the next line may have.
  var lineLimit: Int {
    self.start == nil ? self.limits.startLineBytes : self.limits.headerBytes
  }

  /// What a line beyond the limit means.
  var tooLong: RTSPError {
    self.fatal(self.start == nil ? .startLineTooLong : .headerTooLong)
  }

  /// Takes a line without its end; true when it was the empty one that ends the head.
  mutating func read(_ line: ByteBuffer) throws(RTSPError) -> Bool {
    let bytes = line.readableBytesView
    guard self.start != nil else {
      try self.readStartLine(bytes)
      return false
    }
    guard let first = bytes.first else { return true }
    if first == UInt8(ascii: " ") || first == UInt8(ascii: "\t") {
      try self.readContinuation(bytes)
    } else {
      try self.readHeader(bytes)
    }
    return false
  }

  /// The bytes of the body that follows.
  func bodyByteCount() throws(RTSPError) -> Int {
    let count = self.contentLength ?? 0
    guard count <= self.limits.bodyBytes else { throw self.fatal(.bodyTooLarge) }
    return count
  }

  /// The whole message.
  func message(body: ByteBuffer) throws(RTSPError) -> RTSPMessage {
    if let error = self.error { throw RTSPError(error, cSeq: self.headers["CSeq"], canContinue: true) }
    switch self.start {
    case .request(let method, let uri):
      return .request(RTSPRequest(method: method, uri: uri, headers: self.headers, body: body))
    case .response(let status, let reasonPhrase):
      return .response(RTSPResponse(status: status, reasonPhrase: reasonPhrase, headers: self.headers, body: body))
    case nil:
      throw self.fatal(.malformedStartLine)
    }
  }

  private func fatal(_ code: RTSPError.Code) -> RTSPError {
    RTSPError(code, cSeq: self.headers["CSeq"], canContinue: false)
  }

  /// `Method SP Request-URI SP RTSP-Version` or `RTSP-Version SP Status-Code SP Reason-Phrase`.
  ///
  /// The first and the last word count: some clients send the spaces of a stream's name as they are.
  private mutating func readStartLine(_ line: ByteBufferView) throws(RTSPError) {
    let text = String(decoding: line.map { $0 == UInt8(ascii: "\t") ? UInt8(ascii: " ") : $0 }, as: UTF8.self)
      .trimmingSpace()
    let space = UInt8(ascii: " ")
    guard !text.utf8.contains(where: \.isControl), let firstSpace = text.utf8.firstIndex(of: space),
      let lastSpace = text.utf8.lastIndex(of: space)
    else { throw self.fatal(.malformedStartLine) }
    let first = text[..<firstSpace]
    if first.utf8.starts(with: "RTSP/".utf8) {
      let rest = text[firstSpace...].trimmingSpace()
      let end = rest.utf8.firstIndex(of: space) ?? rest.endIndex
      guard let code = rest[..<end].decimal(as: Int.self), (100...999).contains(code) else {
        throw self.fatal(.malformedStartLine)
      }
      self.start = .response(RTSPStatus(code: code), reasonPhrase: rest[end...].trimmingSpace())
      self.check(version: first)
    } else {
      let version = text[text.utf8.index(after: lastSpace)...]
      let uri = text[firstSpace...lastSpace].trimmingSpace()
      guard first.utf8.allSatisfy(\.isToken), !uri.isEmpty, version.utf8.starts(with: "RTSP/".utf8) else {
        throw self.fatal(.malformedStartLine)
      }
      self.start = .request(RTSPMethod(rawValue: String(first)), uri: uri)
      self.check(version: version)
    }
  }

  private mutating func check(version: Substring) {
    if version != "RTSP/1.0" { self.error = .unsupportedVersion }
  }

  private mutating func readHeader(_ line: ByteBufferView) throws(RTSPError) {
    self.headerCount += 1
    guard self.headerCount <= self.limits.headerCount else { throw self.fatal(.tooManyHeaders) }
    self.headerBytes = line.count
    self.endsWithContentLength = false
    guard let colon = line.firstIndex(of: UInt8(ascii: ":")), Self.isText(line) else { return self.skipHeader() }
    let name = String(decoding: line[..<colon], as: UTF8.self).trimmingSpace()
    let value = String(decoding: line[(colon + 1)...], as: UTF8.self).trimmingSpace()
    guard !name.isEmpty, name.utf8.allSatisfy(\.isToken) else { return self.skipHeader() }
    if name.equalsIgnoringCase("Content-Length") {
      try self.readContentLength(value)
    } else {
      self.headers.append(name, value)
    }
  }

  private mutating func readContinuation(_ line: ByteBufferView) throws(RTSPError) {
    self.headerBytes += line.count + 1
    guard self.headerBytes <= self.limits.headerBytes else { throw self.fatal(.headerTooLong) }
    let text = String(decoding: line, as: UTF8.self).trimmingSpace()
    guard self.headerCount > 0, Self.isText(line) else { return self.skipHeader() }
    if self.endsWithContentLength {
      guard text.isEmpty else { throw self.fatal(.malformedContentLength) }
    } else if self.error == nil {
      self.headers.continueLast(with: text.withoutControls())
    }
  }

  /// A broken header hides its value, not the end of the message.
  private mutating func skipHeader() {
    if self.error == nil { self.error = .malformedHeader }
  }

  private mutating func readContentLength(_ value: String) throws(RTSPError) {
    self.endsWithContentLength = true
    guard !value.isEmpty, value.utf8.allSatisfy(\.isDigit) else { throw self.fatal(.malformedContentLength) }
    // A number of digits that no integer holds is too large all the same.
    let length = Int(value) ?? .max
    guard self.contentLength == nil || self.contentLength == length else { throw self.fatal(.malformedContentLength) }
    self.contentLength = length
  }

  private static func isText(_ line: ByteBufferView) -> Bool {
    !line.contains { $0.isControl && $0 != UInt8(ascii: "\t") }
  }
}
