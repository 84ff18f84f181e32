internal import CZlib
internal import NIOCore
internal import Synchronization

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
