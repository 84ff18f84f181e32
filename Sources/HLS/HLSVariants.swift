package import NIOCore

/// The order of the variants in a multivariant playlist: players, Apple's and hls.js among them, start with the first one.
package enum HLSVariants {
  /// Moves a rendition to the front of a multivariant playlist; without effect where it is not in it.
  ///
  /// - Parameter name: The rendition's name.
  package static func starting(with name: String, _ playlist: ByteBuffer) -> ByteBuffer {
    var lines = String(buffer: playlist).split(separator: "\n", omittingEmptySubsequences: false)
    guard let address = lines.firstIndex(where: { $0.hasPrefix("\(name)/") }), address > 0,
      let first = lines.firstIndex(where: { $0.hasPrefix("#EXT-X-STREAM-INF:") }), first < address - 1
    else { return playlist }
    let variant = Array(lines[(address - 1)...address])
    lines.removeSubrange((address - 1)...address)
    lines.insert(contentsOf: variant, at: first)
    return ByteBuffer(string: lines.joined(separator: "\n"))
  }
}
