package import Authentication
package import Media
package import NIOCore
package import Streaming
internal import Synchronization

/// A server's output of one rendition of a stream: what its viewers get is made once for all of them.
///
/// ``OutputDirectory`` makes it, for another rendition than the main one with its first viewer, and adds it to the rendition, whose threads
/// call it as `StreamOutput` says. The API reads its counters on any thread:
///
/// ```swift
/// let viewers = directory.output(of: stream.main)?.statistics.viewers ?? 0
/// ```
package protocol ServedOutput: StreamOutput {
  /// The rendition whose samples are output.
  var rendition: Rendition { get }
  /// The rendition that its viewers have asked for: that of the samples, unless these are encoded in place of it.
  var requested: Rendition { get }
  /// Counters of its viewers.
  var statistics: ViewerStatistics { get }
}

extension ServedOutput {
  /// The rendition that its viewers have asked for, that of the samples.
  package var requested: Rendition { self.rendition }

  /// The stream whose samples are output.
  package var stream: LiveStream { self.rendition.stream }

  /// The path in its addresses.
  package var name: String { self.rendition.qualifiedName }
}

/// The served streams of a server in the order in which serving began, the outputs of those of their renditions that have had a
/// viewer, and the connections of the viewers. Callable from any thread.
///
/// A server has one, which makes what its protocol sends:
///
/// ```swift
/// let directory = OutputDirectory<ConnectionOutput<ToyPacketizer>>(eventLoops: loops)
/// directory.serve(stream)
/// let output = await directory.find("live/low")
/// ```
package final class OutputDirectory<Output: ServedOutput>: Sendable {
  /// Makes the output of a rendition from the descriptions of its tracks. It calls ``onEnd`` when its stream has ended.
  package typealias Make = @Sendable (OutputDirectory, Rendition, [CodecDescription]) -> Output

  /// The event loops of the viewers' connections.
  package let eventLoops: [any EventLoop]
  /// Refusals of all servers.
  package let refusals: RefusalCounters
  /// The open connections; none where clients have no connection of their own.
  package let connections = MediaConnections()
  private let make: Make
  private let outputs = Mutex<[Output]>([])

  /// Creates a directory without streams.
  package init(eventLoops: [any EventLoop], refusals: RefusalCounters = RefusalCounters(), make: @escaping Make) {
    self.eventLoops = eventLoops
    self.refusals = refusals
    self.make = make
  }

  /// The outputs of all streams and renditions.
  package var all: [Output] { self.outputs.withLock { $0 } }

  // MARK: Streams

  /// Adds a running stream; its tracks are those of its descriptions now.
  package func serve(_ stream: LiveStream) {
    self.serve(stream, descriptions: stream.descriptions)
  }

  /// Adds a stream with these tracks.
  package func serve(_ stream: LiveStream, descriptions: [CodecDescription]) {
    let output = self.make(self, stream.main, descriptions)
    self.outputs.withLock { $0.append(output) }
    stream.main.add(output)
  }

  /// Removes a stream with its renditions; its viewers stay connected until it ends.
  package func stopServing(_ stream: LiveStream) {
    self.outputs.withLock { $0.removeAll { $0.stream === stream } }
  }

  /// Removes an output that has ended, or a stream by that of its main rendition, and notifies every connection.
  package var onEnd: @Sendable (Output) -> Void {
    { [weak self] output in
      guard let self else { return }
      if output.rendition.isMain {
        self.stopServing(output.stream)
      } else {
        self.outputs.withLock { $0.removeAll { $0 === output } }
      }
      let rendition = output.rendition
      self.connections.forEach { $0.renditionEnded(rendition) }
    }
  }

  // MARK: Lookup

  /// The served streams.
  private var streams: [LiveStream] { self.all.filter(\.rendition.isMain).map(\.stream) }

  /// The served stream of a name; nil when there is none.
  ///
  /// - Parameter isFirstUnnamed: Whether an empty name is that of the first stream.
  package func stream(named name: String, isFirstUnnamed: Bool = false) -> LiveStream? {
    isFirstUnnamed && name.isEmpty ? self.streams.first : self.streams.first { $0.name == name }
  }

  /// The rendition that a path names, over every protocol: `NAME` and `NAME/main` the main one of a stream, `NAME/RENDITION` another
  /// one; the empty path, `main` and `RENDITION` those of the first stream. A stream's name wins over a rendition's.
  ///
  /// - Returns: Nil where the path names nothing.
  package func rendition(atPath path: String) -> Rendition? {
    let streams = self.streams
    guard let first = streams.first else { return nil }
    if path.isEmpty { return first.main }
    if let stream = streams.first(where: { $0.name == path }) { return stream.main }
    for stream in streams where path.hasPrefix("\(stream.name)/") {
      if let rendition = stream.rendition(named: path.dropFirst(stream.name.count + 1)) { return rendition }
    }
    return first.rendition(named: path)
  }

  /// The output of a rendition; nil where its stream is not served, and before the first viewer of one that is not the main one.
  package func output(of rendition: Rendition) -> Output? {
    self.all.first { $0.rendition == rendition }
  }

  /// The output of what a path names, see ``rendition(atPath:)``; nil where there is none, or not yet.
  package func output(atPath path: String) -> Output? {
    self.rendition(atPath: path).flatMap { self.output(of: $0) }
  }

  /// Finds the output of what a path names, after the encoder of its rendition was opened if need be.
  ///
  /// - Returns: Nil where the path names nothing, or the encoder cannot be opened.
  package func find(_ path: String) async -> Output? {
    guard let rendition = self.rendition(atPath: path) else { return nil }
    return await self.find(rendition)
  }

  /// Finds the output of a rendition, after its encoder was opened if need be; nil where that cannot be opened.
  ///
  /// - Parameter make: Makes an output of another kind than the directory's; nil for one of that.
  package func find(_ rendition: Rendition, making make: Make? = nil) async -> Output? {
    if let present = self.output(of: rendition) { return present }
    guard self.canOpen(rendition), let descriptions = try? await rendition.prepare() else { return nil }
    return self.add((make ?? self.make)(self, rendition, descriptions))
  }

  /// Finds an output as ``find(_:making:)`` does, for callers on an event loop: of a rendition with an output it costs no task.
  ///
  /// - Parameter completion: Called on any thread, or at once.
  package func find(
    _ rendition: Rendition, making make: Make? = nil, _ completion: @escaping @Sendable (Output?) -> Void
  ) {
    if let present = self.output(of: rendition) { return completion(present) }
    guard self.canOpen(rendition) else { return completion(nil) }
    // Ends after ``Rendition/preparationTimeout``.
    Task { completion(await self.find(rendition, making: make)) }
  }

  /// Finds the output of the first path that names something, for callers on an event loop.
  ///
  /// - Parameter completion: Called on any thread, or at once.
  package func find(_ paths: [String], _ completion: @escaping @Sendable (Output?) -> Void) {
    // Each path is looked up once: a lazy sequence would look again, and trap where the stream has ended meanwhile.
    for path in paths {
      if let rendition = self.rendition(atPath: path) { return self.find(rendition, completion) }
    }
    completion(nil)
  }

  /// Whether an output can be made of a rendition that has none.
  private func canOpen(_ rendition: Rendition) -> Bool { !rendition.isMain && rendition.failure == nil }

  /// Adds the output of a rendition whose parameter sets are known, unless the rendition has one.
  ///
  /// - Returns: The rendition's output; nil when its stream is no longer served.
  private func add(_ output: Output) -> Output? {
    let (present, isAdded) = self.outputs.withLock { all -> (Output?, Bool) in
      if let present = all.first(where: { $0.rendition == output.rendition }) { return (present, false) }
      guard all.contains(where: { $0.stream === output.stream }) else { return (nil, false) }
      all.append(output)
      return (output, true)
    }
    if isAdded { output.rendition.add(output) }
    return present
  }

  // MARK: Counters

  /// Counters of a stream's viewers, those of its renditions included; all zero where it is not served.
  package func statistics(of stream: LiveStream) -> ViewerStatistics {
    self.statistics { $0.stream === stream }
  }

  /// Counters of the viewers that have asked for a rendition; all zero before its first viewer.
  package func statistics(of rendition: Rendition) -> ViewerStatistics {
    self.statistics { $0.requested == rendition }
  }

  private func statistics(where isCounted: (Output) -> Bool) -> ViewerStatistics {
    self.all.filter(isCounted).reduce(into: ViewerStatistics()) { $0.add($1.statistics) }
  }
}
