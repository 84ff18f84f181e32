/// The connection setup request of X11 and its reply (X Window System Protocol, X Version 11, §8, "Connection Setup").
///
///     request                                  reply
///     1  byte order: "l", little-endian        1  0 failed, 1 success, 2 authenticate
///     1  unused                                1  length of the reason in bytes, when failed
///     2  major version: 11                     2  major version
///     2  minor version: 0                      2  minor version
///     2  n, length of the protocol name        2  length of the rest in units of four bytes
///     2  d, length of the data                 …  the reason
///     2  unused
///     n  authorization protocol name, padded to a multiple of four
///     d  authorization data, padded to a multiple of four
package enum X11Setup {
  /// Decision of the X server about a connection.
  package enum Reply: Hashable {
    case accepted
    /// The reason is the server's text, which may be empty.
    case refused(reason: String)
  }

  /// Length of the reply before the reason, in bytes.
  package static let headLength = 8

  /// Serializes the request.
  ///
  /// - Parameters:
  ///   - name: Name of the authorization protocol, at most 65,535 bytes; empty for none.
  ///   - data: Authorization data, at most 65,535 bytes.
  static func request(name: [UInt8], data: [UInt8]) -> [UInt8] {
    func number(_ value: Int) -> [UInt8] { [UInt8(truncatingIfNeeded: value), UInt8(truncatingIfNeeded: value >> 8)] }
    func padded(_ bytes: [UInt8]) -> [UInt8] { bytes + Array(repeating: 0, count: (4 - bytes.count % 4) % 4) }
    return [UInt8(ascii: "l"), 0] + number(11) + number(0) + number(name.count) + number(data.count) + [0, 0]
      + padded(name) + padded(data)
  }

  /// Length of the reason that follows the head, in bytes; 0 for a success, nil when the head is not one of X11.
  package static func reasonLength(head: [UInt8]) -> Int? {
    guard head.count == self.headLength, head[0] <= 2 else { return nil }
    return head[0] == 1 ? 0 : (Int(head[6]) | Int(head[7]) << 8) * 4
  }

  /// Parses a reply; nil when it is not one of X11.
  ///
  /// - Parameter bytes: The head, and as much of the reason as was received.
  package static func reply(parsing bytes: [UInt8]) -> Reply? {
    guard let length = self.reasonLength(head: Array(bytes.prefix(self.headLength))) else { return nil }
    if bytes[0] == 1 { return .accepted }
    let reason = bytes.dropFirst(self.headLength).prefix(bytes[0] == 0 ? min(length, Int(bytes[1])) : length)
    // Made printable on one line, since it is shown to the user.
    let text = String(decoding: reason.map { (0x20..<0x7F).contains($0) ? $0 : 0x20 }, as: UTF8.self)
    return .refused(reason: text.split(separator: " ").joined(separator: " "))
  }
}
