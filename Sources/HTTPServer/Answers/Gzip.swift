internal import CZlib
internal import NIOCore
internal import Synchronization

/// Compresses text, RFC 1952, each once for all who want the same.
final class Gzip: Sendable {
  private struct Entry {
    var etag: String
    var bytes: ByteBuffer
  }

  /// Playlists of many streams, files of the page.
  private static let most = 128
  private let entries = Mutex<[Entry]>([])

  /// The compressed form of content with a tag; nil where it would not be shorter.
  func compressed(_ body: ByteBuffer, etag: String) -> ByteBuffer? {
    let known = self.entries.withLock { entries in entries.last { $0.etag == etag }?.bytes }
    // Two that come at once compress twice, and get the same.
    let bytes = known ?? Self.compress(body) ?? ByteBuffer()
    if known == nil {
      self.entries.withLock { entries in
        if entries.count >= Self.most { entries.removeFirst(Self.most / 2) }
        entries.append(Entry(etag: etag, bytes: bytes))
      }
    }
    return bytes.readableBytes > 0 ? bytes : nil
  }

  /// The compressed bytes; nil where they would not be fewer.
  static func compress(_ body: ByteBuffer) -> ByteBuffer? {
    var stream = z_stream()
    // 15 bits of window, and 16 for the gzip wrapper instead of zlib's.
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
        // zlib only reads its input; its type is older than `const`.
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
