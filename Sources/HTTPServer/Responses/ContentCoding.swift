internal import Authentication
internal import CZlib
internal import NIOCore
internal import Synchronization

/// Negotiation of the content coding by `Accept-Encoding`, RFC 9110 §12.5.3; gzip is the only one offered.
package enum ContentCoding {
  /// Whether gzip is acceptable and its weight is at least that of `identity`.
  package static func acceptsGzip(_ value: String?) -> Bool {
    guard let value, value.utf8.count <= 1024 else { return false }
    var gzip: Int?
    var any: Int?
    var identity: Int?
    for part in value.split(separator: ",") {
      let pieces = part.split(separator: ";", omittingEmptySubsequences: false)
      let name = pieces[0].trimmingSpace()
      var weight = 1000
      for piece in pieces.dropFirst() {
        let parameter = piece.trimmingSpace()
        guard parameter.utf8.count > 2, parameter.prefix(2).lowercased() == "q=" else { continue }
        weight = Self.weight(parameter.dropFirst(2)) ?? 0
      }
      if name.equalsIgnoringCase("gzip") || name.equalsIgnoringCase("x-gzip") {
        gzip = weight
      } else if name == "*" {
        any = weight
      } else if name.equalsIgnoringCase("identity") {
        identity = weight
      }
    }
    let quality = gzip ?? any ?? 0
    return quality > 0 && quality >= identity ?? 0
  }

  /// Parses a weight of 0 to 1 with at most three decimals into thousandths; nil when malformed.
  private static func weight(_ text: Substring) -> Int? {
    let pieces = text.split(separator: ".", omittingEmptySubsequences: false)
    guard pieces.count <= 2, let whole = pieces[0].decimal(as: Int.self), whole <= 1 else { return nil }
    guard pieces.count == 2, !pieces[1].isEmpty else { return whole * 1000 }
    guard pieces[1].utf8.count <= 3, let digits = (pieces[1] + "000").prefix(3).decimal(as: Int.self) else {
      return nil
    }
    return min(1000, whole * 1000 + digits)
  }
}

/// Compresses text with gzip, RFC 1952, and caches the result by entity tag.
final class Gzip: Sendable {
  private struct Entry {
    var etag: String
    var bytes: ByteBuffer
  }

  /// Maximum number of cached bodies; at the limit the older half is removed.
  private static let maximumEntries = 128
  private let entries = Mutex<[Entry]>([])

  /// Returns the compressed body with an entity tag; nil when it would not be shorter.
  func compressed(_ body: ByteBuffer, etag: String) -> ByteBuffer? {
    let known = self.entries.withLock { entries in entries.last { $0.etag == etag }?.bytes }
    // Concurrent callers may compress the same body twice.
    let bytes = known ?? Self.compress(body) ?? ByteBuffer()
    if known == nil {
      self.entries.withLock { entries in
        if entries.count >= Self.maximumEntries { entries.removeFirst(Self.maximumEntries / 2) }
        entries.append(Entry(etag: etag, bytes: bytes))
      }
    }
    return bytes.readableBytes > 0 ? bytes : nil
  }

  /// Compresses a body; nil when the result would not be shorter.
  static func compress(_ body: ByteBuffer) -> ByteBuffer? {
    var stream = z_stream()
    // windowBits: 15, plus 16 for the gzip wrapper instead of zlib's.
    guard
      deflateInit2_(
        &stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
        Int32(MemoryLayout<z_stream>.size)) == Z_OK
    else { return nil }
    defer { deflateEnd(&stream) }
    let length = body.readableBytes
    guard length > 0, let inputLength = UInt32(exactly: length) else { return nil }
    var result = ByteBuffer()
    let isDone = result.writeWithUnsafeMutableBytes(minimumWritableBytes: length) { output in
      body.withUnsafeReadableBytes { input in
        // zlib does not modify its input; `next_in` predates `const`.
        stream.next_in = UnsafeMutablePointer(mutating: input.bindMemory(to: UInt8.self).baseAddress)
        stream.avail_in = inputLength
        stream.next_out = output.bindMemory(to: UInt8.self).baseAddress
        stream.avail_out = inputLength
        return deflate(&stream, Z_FINISH) == Z_STREAM_END ? length - Int(stream.avail_out) : 0
      }
    }
    return isDone > 0 ? result : nil
  }
}
