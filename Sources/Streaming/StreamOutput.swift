public import Media

/// Where a stream's samples go: a protocol's packetizer, a segmenter, a file.
public protocol StreamOutput: AnyObject, Sendable {
  /// Takes one sample; called on the stream's own threads, one for each kind, in order of time for each. It must return
  /// at once: what waits for a viewer or a disk has a bounded queue of its own.
  func consume(_ sample: EncodedSample)

  /// Told what effects have found out about a picture; called on the thread that hands over the pictures, before the sample
  /// of that picture. Only while the stream has effects, and once more when it has none any longer.
  ///
  /// It must return at once.
  func consume(_ metadata: PictureMetadata)

  /// Told that the samples of a kind that follow need another description, from a keyframe on: a source that compresses
  /// itself is passed through from now on, or not any more. ``LiveStream/descriptions`` holds it already.
  ///
  /// Called on the thread that hands over the samples of that kind, before the first of them; and when the output is
  /// added, with what holds then. It must return at once, and equal descriptions are to change nothing.
  func descriptionChanged(to description: CodecDescription)

  /// Told once that no more samples will come.
  func streamEnded()
}

extension StreamOutput {
  /// Does nothing.
  public func consume(_ metadata: PictureMetadata) {}

  /// Does nothing: for outputs whose receivers find parameters within the samples, or look at them themselves.
  public func descriptionChanged(to description: CodecDescription) {}
}
