package import Media
package import Streaming

/// The stream of a recording: its name, codec descriptions, keyframe requests and subscription.
package struct RecordingSource: Sendable {
  /// Name of the stream, stored in its files.
  package var name: String
  /// Returns the codec description of each track; empty before the stream has started.
  package var descriptions: @Sendable () -> [CodecDescription]
  /// Requests that the next video sample is a keyframe.
  package var requestKeyframe: @Sendable () -> Void
  /// Subscribes an output to the stream's samples.
  package var add: @Sendable (any StreamOutput) -> Void
  /// Unsubscribes an output.
  package var remove: @Sendable (any StreamOutput) -> Void

  package init(
    name: String = "live", descriptions: @escaping @Sendable () -> [CodecDescription],
    requestKeyframe: @escaping @Sendable () -> Void,
    add: @escaping @Sendable (any StreamOutput) -> Void, remove: @escaping @Sendable (any StreamOutput) -> Void
  ) {
    self.name = name
    self.descriptions = descriptions
    self.requestKeyframe = requestKeyframe
    self.add = add
    self.remove = remove
  }

  /// Creates a source from a stream.
  init(_ stream: LiveStream) {
    self.init(
      name: stream.name, descriptions: { stream.descriptions }, requestKeyframe: { stream.requestKeyframe() },
      add: { stream.add($0) }, remove: { stream.remove($0) })
  }

  /// Creates a source from a stream, preceded by the samples that a preroll retained.
  init(_ stream: LiveStream, after preroll: Preroll) {
    self.init(
      name: stream.name, descriptions: { stream.descriptions }, requestKeyframe: { stream.requestKeyframe() },
      add: { if !preroll.forward(to: $0) { stream.add($0) } },
      remove: {
        preroll.close()
        stream.remove(preroll)
        stream.remove($0)
      })
  }
}
