package import Media
package import NIOCore

/// The body of a PATCH with candidates or new ICE credentials: `application/trickle-ice-sdpfrag`, RFC 8840 §9.
package struct TrickleFragment: Hashable, Sendable {
  /// The client's credentials; nil when they are missing or malformed.
  package var credentials: ICECredentials?
  /// Candidates, those after the maximum left out.
  package var candidates: [ICECandidate] = []
  /// Whether the client has no more candidates.
  package var isComplete = false

  /// Maximum length of the text in bytes.
  package static let maximumLength = 64 * 1024
  /// Maximum number of candidates that are kept.
  package static let maximumCandidateCount = 64

  /// Parses a fragment; lines that are unknown are ignored, as are candidates that cannot be used.
  ///
  /// - Throws: `ParsingError`: `.tooLarge` beyond ``maximumLength``, `.missing` when no line is one of a fragment.
  package init(parsing text: ByteBuffer) throws(ParsingError) {
    guard text.readableBytes <= Self.maximumLength else { throw ParsingError(.tooLarge, field: "sdpfrag") }
    var usernameFragment: String?
    var password: String?
    var hasLine = false
    for line in Array(buffer: text).split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }) {
      guard line.count > 2, line.first == UInt8(ascii: "a"), line.dropFirst().first == UInt8(ascii: "=") else {
        continue
      }
      let content = line.dropFirst(2)
      let name = String(decoding: content.prefix { $0 != UInt8(ascii: ":") }, as: UTF8.self)
      let value = String(decoding: content.drop { $0 != UInt8(ascii: ":") }.dropFirst(), as: UTF8.self)
      switch name {
      case "ice-ufrag": usernameFragment = usernameFragment ?? value
      case "ice-pwd": password = password ?? value
      case "end-of-candidates": self.isComplete = true
      case "candidate":
        if self.candidates.count < Self.maximumCandidateCount, let candidate = try? ICECandidate(parsing: value) {
          self.candidates.append(candidate)
        }
      case "mid": break
      default: continue
      }
      hasLine = true
    }
    guard hasLine else { throw ParsingError(.missing, field: "sdpfrag") }
    if let usernameFragment, let password {
      self.credentials = ICECredentials(usernameFragment: usernameFragment, password: password)
    }
  }
}
