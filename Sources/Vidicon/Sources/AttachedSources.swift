internal import HTTPServer
internal import Streaming
internal import Synchronization

/// The sources of a server's streams.
final class AttachedSources: Sendable {
  private let offer: SourceCatalog
  private let sources = Mutex<[ObjectIdentifier: StreamSources]>([:])

  /// - Parameter offer: Of streams that have none of their own.
  init(offer: SourceCatalog) {
    self.offer = offer
  }

  func attach(_ sources: StreamSources, to stream: LiveStream) {
    self.sources.withLock { $0[ObjectIdentifier(stream)] = sources }
  }

  /// Gives a stream that has none sources without names.
  func attachDefault(to stream: LiveStream) {
    self.sources.withLock { sources in
      guard sources[ObjectIdentifier(stream)] == nil else { return }
      sources[ObjectIdentifier(stream)] = StreamSources(stream, offer: self.offer)
    }
  }

  func sources(of stream: LiveStream) -> StreamSources? {
    self.sources.withLock { $0[ObjectIdentifier(stream)] }
  }

  func detach(from stream: LiveStream) {
    self.sources.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(stream)) }
  }

  /// What can be chosen by those who are trusted, or not; may take its time.
  func list(isTrusted: Bool) -> HTTPServerDevices.List {
    let list = HTTPServerDevices.List(devices: self.offer.devices(), generators: self.offer.generators)
    guard !isTrusted else { return list }
    let start = self.sources.withLock { $0.values.map(\.start) }
    return SourceAccessPolicy(start: start).open(list)
  }
}
