internal import Authentication
import Media
import NIOCore

/// Accumulates the start line and headers of a message, line by line, RFC 2326 §4.
struct RTSPMessageHead {
  private enum Start {
    case request(RTSPMethod, uri: String)
    case response(RTSPStatus, reasonPhrase: String)
  }

  private let limits: RTSPMessageParser.Limits
  private var start: Start?
  private var headers = RTSPHeaders()
  /// Number of header lines parsed, malformed lines and `Content-Length` included.
  private var headerCount = 0
  /// Length of the last header line and its continuation lines, line ends included, in bytes.
  private var headerBytes = 0
  /// Length of all header lines.
  private var headBytes = 0
  private var contentLength: Int?
  /// Whether the last line was `Content-Length`, which cannot be continued.
  private var endsWithContentLength = false
  /// The first error that leaves the end of the message known.
  private var error: ParsingError?

  init(limits: RTSPMessageParser.Limits) {
    self.limits = limits
  }

  /// The value of `CSeq`, once it is parsed.
  var cSeq: String? { self.headers["CSeq"] }

  /// Maximum length of the next line, in bytes without its line end.
  var lineLimit: Int {
    self.start == nil ? self.limits.startLineBytes : self.limits.headerBytes
  }

  /// The error of a line longer than ``lineLimit``.
  var lineTooLarge: ParsingError {
    ParsingError(.tooLarge, field: self.start == nil ? RTSPField.startLine : RTSPField.header)
  }

  /// Parses a line without its line end.
  ///
  /// - Returns: Whether it is the empty line that ends the head.
  /// - Throws: `ParsingError` when the end of the message can no longer be found.
  mutating func read(_ line: ByteBuffer) throws(ParsingError) -> Bool {
    // An array, whose bytes a debug build reads ten times as fast as those of a view.
    let bytes = Array(buffer: line)
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

  /// Length of the body that follows the head, in bytes.
  func bodyByteCount() throws(ParsingError) -> Int {
    let count = self.contentLength ?? 0
    guard count <= self.limits.bodyBytes else { throw ParsingError(.tooLarge, field: RTSPField.contentLength) }
    return count
  }

  /// The complete message: ``RTSPMessage/malformed(_:)`` after an error that left its end known.
  func message(body: ByteBuffer) -> RTSPMessage {
    if let error = self.error {
      return .malformed(RTSPMalformedMessage(error, cSeq: self.cSeq, canContinue: true))
    }
    switch self.start {
    case .request(let method, let uri):
      return .request(RTSPRequest(method: method, uri: uri, headers: self.headers, body: body))
    case .response(let status, let reasonPhrase):
      return .response(RTSPResponse(status: status, reasonPhrase: reasonPhrase, headers: self.headers, body: body))
    case nil:
      return .malformed(RTSPMalformedMessage(Self.invalidStartLine, cSeq: self.cSeq, canContinue: false))
    }
  }

  private static let invalidStartLine = ParsingError(.invalid, field: RTSPField.startLine)

  /// `Method SP Request-URI SP RTSP-Version` or `RTSP-Version SP Status-Code SP Reason-Phrase`.
  ///
  /// The URI is everything between the first and the last word: some clients send spaces in a stream's name unescaped.
  private mutating func readStartLine(_ line: [UInt8]) throws(ParsingError) {
    let text = String(decoding: line.map { $0 == UInt8(ascii: "\t") ? UInt8(ascii: " ") : $0 }, as: UTF8.self)
      .trimmingSpace()
    let space = UInt8(ascii: " ")
    guard !text.utf8.contains(where: \.isControl), let firstSpace = text.utf8.firstIndex(of: space),
      let lastSpace = text.utf8.lastIndex(of: space)
    else { throw Self.invalidStartLine }
    let first = text[..<firstSpace]
    if first.utf8.starts(with: "RTSP/".utf8) {
      let rest = text[firstSpace...].trimmingSpace()
      let end = rest.utf8.firstIndex(of: space) ?? rest.endIndex
      guard let code = rest[..<end].decimal(as: Int.self), (100...999).contains(code) else {
        throw Self.invalidStartLine
      }
      self.start = .response(RTSPStatus(code: code), reasonPhrase: rest[end...].trimmingSpace())
      self.check(version: first)
    } else {
      let version = text[text.utf8.index(after: lastSpace)...]
      let uri = text[firstSpace...lastSpace].trimmingSpace()
      guard first.utf8.allSatisfy(\.isToken), !uri.isEmpty, version.utf8.starts(with: "RTSP/".utf8) else {
        throw Self.invalidStartLine
      }
      self.start = .request(RTSPMethod(rawValue: String(first)), uri: uri)
      self.check(version: version)
    }
  }

  private mutating func check(version: Substring) {
    if version != "RTSP/1.0" { self.error = ParsingError(.unsupported, field: RTSPField.version) }
  }

  private mutating func readHeader(_ line: [UInt8]) throws(ParsingError) {
    self.headerCount += 1
    guard self.headerCount <= self.limits.headerCount else {
      throw ParsingError(.tooLarge, field: RTSPField.headerCount)
    }
    self.headerBytes = line.count
    self.headBytes += line.count
    guard self.headBytes <= self.limits.headBytes else { throw ParsingError(.tooLarge, field: RTSPField.header) }
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

  private mutating func readContinuation(_ line: [UInt8]) throws(ParsingError) {
    self.headerBytes += line.count + 1
    self.headBytes += line.count + 1
    guard self.headerBytes <= self.limits.headerBytes, self.headBytes <= self.limits.headBytes else {
      throw ParsingError(.tooLarge, field: RTSPField.header)
    }
    let text = String(decoding: line, as: UTF8.self).trimmingSpace()
    guard self.headerCount > 0, Self.isText(line) else { return self.skipHeader() }
    if self.endsWithContentLength {
      guard text.isEmpty else { throw Self.invalidContentLength }
    } else if self.error == nil {
      self.headers.continueLast(with: text.withoutControls())
    }
  }

  /// Records a malformed header line: its value is lost, the end of the message is not.
  private mutating func skipHeader() {
    if self.error == nil { self.error = ParsingError(.invalid, field: RTSPField.header) }
  }

  private mutating func readContentLength(_ value: String) throws(ParsingError) {
    self.endsWithContentLength = true
    guard !value.isEmpty, value.utf8.allSatisfy(\.isDigit) else { throw Self.invalidContentLength }
    // A value beyond 64 bits is clamped; it exceeds the body limit either way.
    let length = Int(value) ?? .max
    guard self.contentLength == nil || self.contentLength == length else { throw Self.invalidContentLength }
    self.contentLength = length
  }

  private static let invalidContentLength = ParsingError(.invalid, field: RTSPField.contentLength)

  private static func isText(_ line: [UInt8]) -> Bool {
    !line.contains { $0.isControl && $0 != UInt8(ascii: "\t") }
  }
}
