internal import Discovery
internal import Media
internal import Recording
internal import Serving
internal import StreamControl
internal import Streaming
internal import Synchronization

/// A stream of a server, with the recorder, sources and effects attached to it.
struct RegisteredStream: Sendable {
  enum Phase: Sendable {
    /// A recorder, sources or effects were attached; the stream is not served.
    case attached
    /// The stream is served or being started for that; its name is reserved.
    case served
    /// Serving the stream has ended, or it has ended itself and was replaced by another stream of its name.
    case ended
  }

  let stream: LiveStream
  var phase = Phase.attached
  var sources: StreamSources?
  var effects: StreamEffects?
  var recorder: Recorder?
  /// Nil before the stream is served.
  var pushes: StreamPushes?
  /// The DNS-SD services announced for the stream.
  var services: [Service] = []

  init(_ stream: LiveStream) {
    self.stream = stream
  }
}

/// The streams of a server, in the order in which they were added.
final class StreamRegistry: Sendable {
  private let streams = Mutex<[RegisteredStream]>([])

  /// A copy of the entry of a stream; nil when nothing was attached and it is not served.
  subscript(stream: LiveStream) -> RegisteredStream? {
    self.streams.withLock { $0.first { $0.stream === stream } }
  }

  /// The streams on the network.
  var served: [LiveStream] {
    self.streams.withLock { $0.filter { $0.phase == .served }.map(\.stream) }
  }

  /// All attached recorders, including those of streams that have ended.
  var recorders: [Recorder] {
    self.streams.withLock { $0.compactMap(\.recorder) }
  }

  /// Changes the entry of a stream; adds one where there is none. `body` runs with the lock held.
  func update<Result>(_ stream: LiveStream, _ body: (inout RegisteredStream) -> Result) -> Result {
    self.streams.withLock { streams in
      if let index = streams.firstIndex(where: { $0.stream === stream }) { return body(&streams[index]) }
      var entry = RegisteredStream(stream)
      defer { streams.append(entry) }
      return body(&entry)
    }
  }

  /// Changes the entry of a stream while it is on the network. `body` runs with the lock held, so that nothing is
  /// announced after serving the stream has ended.
  func updateServed(_ stream: LiveStream, _ body: (inout RegisteredStream) -> Void) {
    self.streams.withLock { streams in
      guard let index = streams.firstIndex(where: { $0.stream === stream && $0.phase == .served }) else {
        return
      }
      body(&streams[index])
    }
  }

  /// Reserves the name of a stream that is to be served.
  ///
  /// - Throws: ``VidiconError`` `alreadyExists` when a stream of that name, or this stream, is served and has not ended, or
  ///   when a rendition has the same path as a stream.
  func reserve(_ stream: LiveStream) throws(VidiconError) {
    let isReserved = self.streams.withLock { streams in
      let paths = stream.renditionPaths
      for other in streams where other.phase == .served && !other.stream.hasEnded {
        let name = other.stream.name
        if paths.contains(name) || other.stream.renditionPaths.contains(stream.name) {
          return false
        }
      }
      for index in streams.indices
      where streams[index].phase == .served && streams[index].stream.name == stream.name {
        guard streams[index].stream.hasEnded else { return false }
        // The services of the new stream have the same names.
        (streams[index].phase, streams[index].services) = (.ended, [])
      }
      var entry = RegisteredStream(stream)
      if let index = streams.firstIndex(where: { $0.stream === stream }) {
        entry = streams.remove(at: index)
      }
      entry.phase = .served
      streams.append(entry)
      return true
    }
    guard isReserved else { throw .streamNameTaken(stream.name) }
  }

  /// Ends the reservation of a stream that could not be started; what was attached stays.
  func cancelReservation(of stream: LiveStream) {
    self.updateServed(stream) { $0.phase = .attached }
  }

  /// Marks a stream as no longer served, so that nothing more is announced.
  ///
  /// - Returns: The services that are announced.
  func end(_ stream: LiveStream) -> [Service] {
    self.streams.withLock { streams in
      guard let index = streams.firstIndex(where: { $0.stream === stream }) else { return [] }
      defer { (streams[index].phase, streams[index].services) = (.ended, []) }
      return streams[index].services
    }
  }

  /// Removes a stream with its recorder, sources and effects.
  func remove(_ stream: LiveStream) {
    self.streams.withLock { $0.removeAll { $0.stream === stream } }
  }

  /// Recorder, sources and effects of a stream, for changes over HTTP.
  func controls(of stream: LiveStream) -> StreamControls {
    let entry = self[stream]
    return StreamControls(
      sources: entry?.sources, effects: entry?.effects,
      recording: entry?.recorder.map(RecordingControl.init),
      pushes: entry?.pushes.map { pushes in
        PushControl(
          reports: { pushes.reports },
          replace: { entries in
            do throws(VidiconError) {
              try pushes.replace(with: entries)
              return nil
            } catch {
              return error
            }
          })
      })
  }
}
