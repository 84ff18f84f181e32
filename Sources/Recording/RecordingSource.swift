package import Media
package import Streaming
internal import Synchronization

/// The stream of a recording: its name, codec descriptions, keyframe requests and subscription.
package struct RecordingSource: Sendable {
  /// Name of the stream, stored in its files.
  package var name: String
  /// Waits until ``descriptions`` are known; throws where they never are.
  package var prepare: @Sendable () async throws(VidiconError) -> Void = {}
  /// Returns the codec description of each track; empty before the stream has started.
  package var descriptions: @Sendable () -> [CodecDescription]
  /// Requests that the next video sample is a keyframe.
  package var requestKeyframe: @Sendable () -> Void
  /// Subscribes an output to the stream's samples.
  package var add: @Sendable (any StreamOutput) -> Void
  /// Removes an output from the source; it may still get samples that are being delivered.
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

  /// Creates a source from a rendition, which is used while an output is subscribed.
  init(_ rendition: Rendition) {
    let users = RenditionUsers()
    self.init(
      name: rendition.stream.name, descriptions: { rendition.descriptions },
      requestKeyframe: { rendition.requestKeyframe() },
      add: { output in
        users.insert(output)
        rendition.add(output)
        rendition.beginUse()
      },
      remove: { output in
        // A session that did not start has subscribed nothing.
        guard users.remove(output) else { return }
        rendition.remove(output)
        rendition.endUse()
      })
    self.prepare = { () async throws(VidiconError) in _ = try await rendition.prepare() }
  }
}

/// The outputs that use a rendition.
private final class RenditionUsers: Sendable {
  private let outputs = Mutex(Set<ObjectIdentifier>())

  func insert(_ output: any StreamOutput) {
    self.outputs.withLock { _ = $0.insert(ObjectIdentifier(output)) }
  }

  /// - Returns: Whether the output used the rendition.
  func remove(_ output: any StreamOutput) -> Bool {
    self.outputs.withLock { $0.remove(ObjectIdentifier(output)) != nil }
  }
}
