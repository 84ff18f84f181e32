internal import Media
internal import NIOCore

/// A token in the addresses of a playlist: players send no header with the requests that a playlist leads to.
enum PlaylistToken {
  /// Adds `?token=TOKEN` to each address of a playlist, RFC 8216 §4.1 and §4.2: lines that are not tags, and the attribute
  /// `URI` of tags. The addresses have no query of their own.
  static func add(_ token: String, to playlist: ByteBuffer) -> ByteBuffer {
    let query = "?token=" + PercentEncoding.encode(token)
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
}
