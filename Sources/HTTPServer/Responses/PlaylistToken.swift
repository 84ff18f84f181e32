internal import Media
internal import NIOCore

/// A token in the addresses of a playlist: players send no header with the requests that a playlist leads to.
enum PlaylistToken {
  /// Adds `?token=TOKEN` to each address of a playlist, RFC 8216 §4.1 and §4.2: lines that are not tags, and the attribute
  /// `URI` of tags. The addresses have no query of their own.
  static func add(_ token: String, to playlist: ByteBuffer) -> ByteBuffer {
    let query = "?token=" + Self.percentEncoded(token)
    let lines = String(buffer: playlist).split(separator: "\n", omittingEmptySubsequences: false)
    let attribute = "URI=\""
    let changed = lines.map { line -> String in
      guard line.hasPrefix("#") else { return line.isEmpty ? "" : line + query }
      guard let start = line.firstRange(of: attribute)?.upperBound,
        let end = line[start...].firstIndex(of: "\"")
      else { return String(line) }
      return line[..<end] + query + line[end...]
    }
    return ByteBuffer(string: changed.joined(separator: "\n"))
  }

  /// Percent-encodes what is not unreserved, RFC 3986 §2.3; of a token `+`, `/` and `=`.
  private static func percentEncoded(_ token: String) -> String {
    var text = ""
    for byte in token.utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "~"):
        text.unicodeScalars.append(Unicode.Scalar(byte))
      default: text += "%" + Hexadecimal.encode([byte], uppercase: true)
      }
    }
    return text
  }
}
