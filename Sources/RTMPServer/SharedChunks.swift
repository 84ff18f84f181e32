internal import Media
internal import NIOCore
internal import Serving
internal import Synchronization

/// The chunks of one access unit or audio frame: the same bytes for every viewer.
final class SharedChunks: SharedMedia {
  /// The chunks of a delivery, in one buffer.
  static var emptyCache: ByteBuffer? { nil }

  let kind: MediaKind
  let isKeyframe: Bool
  let buffer: ByteBuffer
  /// Metadata and decoder configurations, for a viewer that starts with this; nil where none can, or `buffer` has them.
  let preamble: ByteBuffer?

  var byteCount: Int { self.buffer.readableBytes }

  init(kind: MediaKind, isKeyframe: Bool, buffer: ByteBuffer, preamble: ByteBuffer?) {
    self.kind = kind
    self.isKeyframe = isKeyframe
    self.buffer = buffer
    self.preamble = preamble
  }
}

/// The messages that leave together, as chunks.
typealias RTMPDelivery = SharedDelivery<SharedChunks>

extension SharedDelivery<SharedChunks> {
  /// The chunks of the audio frames and the access unit; built once.
  var chunks: ByteBuffer {
    self.cache.withLock { cache in
      if let cache { return cache }
      let buffer = Self.join(self.audio + [self.video].compactMap(\.self))
      cache = buffer
      return buffer
    }
  }

  /// The chunks of the audio frames.
  var audioChunks: ByteBuffer { Self.join(self.audio) }

  private static func join(_ parts: [SharedChunks]) -> ByteBuffer {
    if parts.count == 1 { return parts[0].buffer }
    var buffer = ByteBufferAllocator().buffer(capacity: parts.reduce(0) { $0 + $1.byteCount })
    for part in parts { buffer.writeImmutableBuffer(part.buffer) }
    return buffer
  }
}
