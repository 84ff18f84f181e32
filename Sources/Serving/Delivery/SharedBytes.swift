package import Media
package import NIOCore
internal import Synchronization

/// The bytes of one access unit or audio frame, for protocols that send every viewer the same over its connection; see
/// ``ConnectionOutput``.
package final class SharedBytes: SharedMedia {
  /// The bytes of a delivery, in one buffer.
  package static var emptyCache: ByteBuffer? { nil }

  package let kind: MediaKind
  package let isKeyframe: Bool
  /// The bytes in the protocol's form.
  package let bytes: ByteBuffer
  /// Bytes that precede `bytes` for a viewer that starts with these: metadata, decoder configurations; nil for none.
  package let preamble: ByteBuffer?

  package var byteCount: Int { self.bytes.readableBytes }

  /// The bytes of a sample.
  package init(_ bytes: ByteBuffer, of sample: EncodedSample, preamble: ByteBuffer? = nil) {
    self.kind = sample.kind
    self.isKeyframe = sample.kind == .video && sample.isKeyframe
    self.bytes = bytes
    self.preamble = preamble
  }
}

extension SharedDelivery<SharedBytes> {
  /// The bytes of the audio frames and the access unit; joined once.
  var bytes: ByteBuffer {
    self.cache.withLock { cache in
      if let cache { return cache }
      let bytes = Self.join(self.parts)
      cache = bytes
      return bytes
    }
  }

  /// The bytes of the deliveries of one turn, in one buffer.
  static func bytes(of deliveries: [SharedDelivery]) -> ByteBuffer {
    deliveries.count == 1 ? deliveries[0].bytes : Self.join(deliveries.flatMap(\.parts))
  }

  private var parts: [SharedBytes] { self.audio + [self.video].compactMap(\.self) }

  /// The bytes of the audio frames.
  var audioBytes: ByteBuffer { Self.join(self.audio) }

  private static func join(_ parts: [SharedBytes]) -> ByteBuffer {
    if parts.count == 1 { return parts[0].bytes }
    var bytes = ByteBufferAllocator().buffer(capacity: parts.reduce(0) { $0 + $1.byteCount })
    for part in parts { bytes.writeImmutableBuffer(part.bytes) }
    return bytes
  }
}
