package import Media
package import Streaming

/// The stream of a recording: its codec descriptions, keyframe requests and subscription.
package struct RecordingSource: Sendable {
  /// What decoders must know of each track; empty before the stream has started.
  package var descriptions: @Sendable () -> [CodecDescription]
  /// The next video sample is to be a keyframe.
  package var requestKeyframe: @Sendable () -> Void
  /// The output is to get samples.
  package var add: @Sendable (any StreamOutput) -> Void
  /// It needs no more.
  package var remove: @Sendable (any StreamOutput) -> Void

  package init(
    descriptions: @escaping @Sendable () -> [CodecDescription], requestKeyframe: @escaping @Sendable () -> Void,
    add: @escaping @Sendable (any StreamOutput) -> Void, remove: @escaping @Sendable (any StreamOutput) -> Void
  ) {
    self.descriptions = descriptions
    self.requestKeyframe = requestKeyframe
    self.add = add
    self.remove = remove
  }

  /// A stream.
  init(_ stream: LiveStream) {
    self.init(
      descriptions: { stream.descriptions }, requestKeyframe: { stream.requestKeyframe() },
      add: { stream.add($0) }, remove: { stream.remove($0) })
  }

  /// A stream, with what it has given before the output was added.
  init(_ stream: LiveStream, after preroll: Preroll) {
    self.init(
      descriptions: { stream.descriptions }, requestKeyframe: { stream.requestKeyframe() },
      add: { if !preroll.forward(to: $0) { stream.add($0) } },
      remove: {
        preroll.close()
        stream.remove(preroll)
        stream.remove($0)
      })
  }
}
