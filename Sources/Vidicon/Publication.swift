internal import Discovery
internal import Media
internal import Recording
internal import Serving
internal import StreamControl
internal import Streaming
internal import Synchronization

/// A stream of a server, with the recorder, sources and effects attached to it.
struct Publication: Sendable {
  enum Phase: Sendable {
    /// A recorder, sources or effects were attached; the stream is not published.
    case attached
    /// The stream is published or being started for that; its name is reserved.
    case published
    /// The stream was withdrawn, or has ended and was replaced by another stream of its name.
    case ended
  }

  let stream: LiveStream
  var phase = Phase.attached
  var sources: StreamSources?
  var effects: StreamEffects?
  var recorder: Recorder?
  /// Nil before the stream is published.
  var pushes: StreamPushes?
  /// The DNS-SD services announced for the stream.
  var services: [Service] = []

  init(_ stream: LiveStream) {
    self.stream = stream
  }
}

/// The streams of a server, in the order of their publication.
final class Publications: Sendable {
  private let publications = Mutex<[Publication]>([])

  /// A copy of the publication of a stream; nil when nothing was attached and it is not published.
  subscript(stream: LiveStream) -> Publication? {
    self.publications.withLock { $0.first { $0.stream === stream } }
  }

  /// The streams on the network.
  var published: [LiveStream] {
    self.publications.withLock { $0.filter { $0.phase == .published }.map(\.stream) }
  }

  /// All attached recorders, including those of streams that have ended.
  var recorders: [Recorder] {
    self.publications.withLock { $0.compactMap(\.recorder) }
  }

  /// Changes the publication of a stream; adds one where there is none. `body` runs with the lock held.
  func update<Result>(_ stream: LiveStream, _ body: (inout Publication) -> Result) -> Result {
    self.publications.withLock { publications in
      if let index = publications.firstIndex(where: { $0.stream === stream }) { return body(&publications[index]) }
      var publication = Publication(stream)
      defer { publications.append(publication) }
      return body(&publication)
    }
  }

  /// Changes the publication of a stream while it is on the network. `body` runs with the lock held, so that nothing is
  /// announced after the stream was withdrawn.
  func updatePublished(_ stream: LiveStream, _ body: (inout Publication) -> Void) {
    self.publications.withLock { publications in
      guard let index = publications.firstIndex(where: { $0.stream === stream && $0.phase == .published }) else {
        return
      }
      body(&publications[index])
    }
  }

  /// Reserves the name of a stream that is to be published.
  ///
  /// - Throws: ``VidiconError`` `alreadyExists` when a stream of that name, or this stream, is published and has not ended, or
  ///   when a rendition has the same path as a stream.
  func reserve(_ stream: LiveStream) throws(VidiconError) {
    let isReserved = self.publications.withLock { publications in
      let paths = stream.renditionPaths
      for other in publications where other.phase == .published && !other.stream.hasEnded {
        let name = other.stream.name
        if paths.contains(name) || other.stream.renditionPaths.contains(stream.name) {
          return false
        }
      }
      for index in publications.indices
      where publications[index].phase == .published && publications[index].stream.name == stream.name {
        guard publications[index].stream.hasEnded else { return false }
        // The services of the new stream have the same names.
        (publications[index].phase, publications[index].services) = (.ended, [])
      }
      var publication = Publication(stream)
      if let index = publications.firstIndex(where: { $0.stream === stream }) {
        publication = publications.remove(at: index)
      }
      publication.phase = .published
      publications.append(publication)
      return true
    }
    guard isReserved else { throw .streamNameTaken(stream.name) }
  }

  /// Withdraws a stream that could not be started; what was attached stays.
  func cancelReservation(of stream: LiveStream) {
    self.updatePublished(stream) { $0.phase = .attached }
  }

  /// Marks a stream as withdrawn, so that nothing more is announced.
  ///
  /// - Returns: The services that are announced.
  func end(_ stream: LiveStream) -> [Service] {
    self.publications.withLock { publications in
      guard let index = publications.firstIndex(where: { $0.stream === stream }) else { return [] }
      defer { (publications[index].phase, publications[index].services) = (.ended, []) }
      return publications[index].services
    }
  }

  /// Removes a stream with its recorder, sources and effects.
  func remove(_ stream: LiveStream) {
    self.publications.withLock { $0.removeAll { $0.stream === stream } }
  }

  /// Recorder, sources and effects of a stream, for changes over HTTP.
  func controls(of stream: LiveStream) -> StreamControls {
    let publication = self[stream]
    return StreamControls(
      sources: publication?.sources, effects: publication?.effects,
      recording: publication?.recorder.map(RecordingControl.init),
      pushes: publication?.pushes.map { pushes in
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
