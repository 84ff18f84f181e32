public import Media

/// Where a stream's samples go: a protocol's packetizer, a segmenter, a file.
public protocol StreamOutput: AnyObject, Sendable {
  /// Takes one sample; called on the stream's own threads, one for each kind, in order of time for each. It must return
  /// at once: what waits for a viewer or a disk has a bounded queue of its own.
  func consume(_ sample: EncodedSample)

  /// Told once that no more samples will come.
  func streamEnded()
}
