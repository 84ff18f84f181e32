internal import Authentication
internal import Media
internal import NIOCore
internal import Streaming
internal import Synchronization

/// The published streams and their renditions.
final class WebRTCStreamDirectory: Sendable {
  private let hub: WebRTCHub
  private let refusals: RefusalCounters
  private let broadcasters = Mutex<[WebRTCBroadcaster]>([])

  init(hub: WebRTCHub, refusals: RefusalCounters) {
    self.hub = hub
    self.refusals = refusals
  }

  /// Adds a running stream.
  func publish(_ stream: LiveStream) {
    self.publish(stream, descriptions: stream.descriptions)
  }

  /// Adds a stream with these tracks.
  func publish(_ stream: LiveStream, descriptions: [CodecDescription]) {
    let broadcaster = self.makeBroadcaster(of: stream, descriptions: descriptions)
    self.broadcasters.withLock { $0.append(broadcaster) }
    stream.add(broadcaster)
  }

  private func makeBroadcaster(
    of stream: LiveStream, rendition: StreamRendition? = nil, descriptions: [CodecDescription]
  ) -> WebRTCBroadcaster {
    WebRTCBroadcaster(
      stream: stream, rendition: rendition, descriptions: descriptions, hub: self.hub, refusals: self.refusals
    ) { [weak self] ended in
      self?.broadcasters.withLock { $0.removeAll { $0 === ended } }
    }
  }

  /// Removes a stream; its viewers stay until it ends.
  func unpublish(_ stream: LiveStream) {
    self.broadcasters.withLock { $0.removeAll { $0.stream === stream } }
  }

  func broadcaster(of stream: LiveStream) -> WebRTCBroadcaster? {
    self.broadcasters.withLock { $0.first { $0.stream === stream && $0.rendition == nil } }
  }

  /// The broadcaster of a rendition; nil before its first viewer.
  func broadcaster(of rendition: StreamRendition) -> WebRTCBroadcaster? {
    self.broadcasters.withLock { $0.first { $0.rendition === rendition } }
  }

  /// Finds the stream or rendition of a path, after its encoder was opened if need be.
  func find(_ path: String) async -> WebRTCBroadcaster? {
    let all = self.broadcasters.withLock { $0 }
    if let broadcaster = all.first(where: { $0.name == path }) { return broadcaster }
    // The main rendition among others.
    if let broadcaster = all.first(where: { $0.rendition == nil && "\($0.name)/main" == path }) { return broadcaster }
    for stream in all.filter({ $0.rendition == nil }).map(\.stream) where path.hasPrefix("\(stream.name)/") {
      let name = path.dropFirst(stream.name.utf8.count + 1)
      guard let rendition = stream.rendition(named: name), rendition.failure == nil else { continue }
      let video = await withCheckedContinuation { continuation in
        rendition.prepare { continuation.resume(returning: try? $0.get()) }
      }
      guard let video else { return nil }
      return self.add(rendition, of: stream, video: video)
    }
    return nil
  }

  /// Adds a rendition whose parameter sets are known, unless it is there.
  ///
  /// - Returns: Its broadcaster; nil when the stream is no longer published.
  private func add(
    _ rendition: StreamRendition, of stream: LiveStream, video: CodecDescription
  ) -> WebRTCBroadcaster? {
    let broadcaster = self.makeBroadcaster(
      of: stream, rendition: rendition, descriptions: [video] + stream.descriptions.filter { $0.kind == .audio })
    let (present, isAdded) = self.broadcasters.withLock { all -> (WebRTCBroadcaster?, Bool) in
      if let present = all.first(where: { $0.rendition === rendition }) { return (present, false) }
      guard all.contains(where: { $0.stream === stream }) else { return (nil, false) }
      all.append(broadcaster)
      return (broadcaster, true)
    }
    if isAdded { rendition.add(broadcaster) }
    return present
  }
}
