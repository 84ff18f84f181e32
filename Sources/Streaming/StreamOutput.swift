public import Media

/// Where a stream's samples go: a protocol's packetizer, a segmenter, a file.
public protocol StreamOutput: AnyObject, Sendable {
  /// Takes one sample; called on the stream's own threads, one for each kind, in order of time for each. It must return
  /// at once: what waits for a viewer or a disk has a bounded queue of its own.
  func consume(_ sample: EncodedSample)

  /// Told that a track goes on in another format; called before the first sample of the new kind, which is a keyframe, on
  /// the track's thread. By default nothing is done.
  func descriptionChanged(to description: CodecDescription)

  /// Told once that no more samples will come.
  func streamEnded()
}

extension StreamOutput {
  /// Does nothing: for outputs that look at each sample anyway.
  public func descriptionChanged(to description: CodecDescription) {}
}
