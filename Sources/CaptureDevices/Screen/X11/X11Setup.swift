/// The first message of an X11 connection and the answer to it (X Window System Protocol, X Version 11, §8, "Connection
/// Setup").
///
///     request                              answer
///     1  byte order: "l", least first      1  0 failed, 1 success, 2 authenticate
///     1  unused                            1  length of the reason in bytes, when failed
///     2  major version: 11                 2  major version
///     2  minor version: 0                  2  minor version
///     2  n, length of the protocol's name  2  length of what follows, in units of four bytes
///     2  d, length of the data             …  the reason
///     2  unused
///     n  name of the authorization protocol, filled up to a multiple of four
///     d  its data, filled up to a multiple of four
enum X11Setup {
  /// What a server says to a program that connects.
  enum Answer: Hashable {
    case accepted
    /// With the server's own words, which may be none.
    case refused(reason: String)
  }

  /// The bytes of an answer before the reason.
  static let headLength = 8

  /// The request.
  ///
  /// - Parameters:
  ///   - name: The name of the authorization protocol, at most 65 535 bytes; empty for none.
  ///   - data: What that protocol shows, at most 65 535 bytes.
  static func request(name: [UInt8], data: [UInt8]) -> [UInt8] {
    func number(_ value: Int) -> [UInt8] { [UInt8(truncatingIfNeeded: value), UInt8(truncatingIfNeeded: value >> 8)] }
    func padded(_ bytes: [UInt8]) -> [UInt8] { bytes + Array(repeating: 0, count: (4 - bytes.count % 4) % 4) }
    return [UInt8(ascii: "l"), 0] + number(11) + number(0) + number(name.count) + number(data.count) + [0, 0]
      + padded(name) + padded(data)
  }

  /// The number of bytes that follow the head of a refusal, 0 for another answer; nil when it is no answer of X11.
  static func reasonLength(head: [UInt8]) -> Int? {
    guard head.count == self.headLength, head[0] <= 2 else { return nil }
    return head[0] == 1 ? 0 : (Int(head[6]) | Int(head[7]) << 8) * 4
  }

  /// Reads an answer; nil when it is none of X11.
  ///
  /// - Parameter bytes: The head and, of a refusal, as much of the reason as came.
  static func answer(_ bytes: [UInt8]) -> Answer? {
    guard let length = self.reasonLength(head: Array(bytes.prefix(self.headLength))) else { return nil }
    if bytes[0] == 1 { return .accepted }
    let reason = bytes.dropFirst(self.headLength).prefix(bytes[0] == 0 ? min(length, Int(bytes[1])) : length)
    // It is shown to the user, on one line.
    let text = String(decoding: reason.map { (0x20..<0x7F).contains($0) ? $0 : 0x20 }, as: UTF8.self)
    return .refused(reason: text.split(separator: " ").joined(separator: " "))
  }
}
