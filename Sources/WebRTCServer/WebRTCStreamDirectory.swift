internal import Authentication
internal import Media
internal import NIOCore
internal import RTP
internal import Streaming
internal import Synchronization
internal import WebRTC

/// The published streams and their renditions.
final class WebRTCStreamDirectory: Sendable {
  private let hub: WebRTCHub
  private let refusals: RefusalCounters
  private let table = BroadcasterTable<WebRTCBroadcaster>()
  private let transcodings = Mutex<[Transcoding]>([])

  /// An encoding of the frames of a stream or rendition whose own encoding not every client decodes.
  private struct Transcoding {
    var stream: LiveStream
    /// The rendition that it replaces; nil for the main one.
    var original: StreamRendition?
    var rendition: StreamRendition
  }

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
    self.table.publish(self.makeBroadcaster(of: stream, descriptions: descriptions))
  }

  private func makeBroadcaster(
    of stream: LiveStream, rendition: StreamRendition? = nil, original: WebRTCBroadcaster.Original? = nil,
    descriptions: [CodecDescription]
  ) -> WebRTCBroadcaster {
    WebRTCBroadcaster(
      stream: stream, rendition: rendition, original: original, descriptions: descriptions, hub: self.hub,
      refusals: self.refusals,
      lowerRenditions: { [weak self, weak stream] in
        guard let stream else { return [] }
        return stream.renditions.filter { $0.failure == nil }.map { rendition in
          WebRTCLowerRendition(bitrate: rendition.bitrate) { [weak self] completion in
            guard let self else { return completion(nil) }
            self.table.find(rendition, of: stream, making: self.make, completion)
          }
        }
      },
      transcode: { [weak self] broadcaster, mode, completion in
        guard let self else { return completion(nil) }
        self.findTranscoding(of: broadcaster, for: mode, completion)
      }
    ) { [weak table = self.table] in table?.remove($0) }
  }

  /// Removes a stream; its viewers stay until it ends.
  func unpublish(_ stream: LiveStream) {
    self.table.unpublish(stream)
  }

  func broadcaster(of stream: LiveStream) -> WebRTCBroadcaster? { self.table.broadcaster(of: stream) }

  /// The broadcaster of a rendition; nil before its first viewer.
  func broadcaster(of rendition: StreamRendition) -> WebRTCBroadcaster? { self.table.broadcaster(of: rendition) }

  /// The stream of a name; nil when none is published.
  func stream(named name: String) -> LiveStream? { self.table.stream(named: name) }

  /// Finds the stream or rendition of a path, after its encoder was opened if need be.
  func find(_ path: String) async -> WebRTCBroadcaster? {
    await withCheckedContinuation { continuation in
      self.table.find(path, making: self.make) { continuation.resume(returning: $0) }
    }
  }

  /// The frames of a stream or rendition as Constrained Baseline, see ``findTranscoding(of:for:_:)``.
  func transcoding(of broadcaster: WebRTCBroadcaster, for mode: H264PacketizationMode) async -> WebRTCBroadcaster? {
    await withCheckedContinuation { continuation in
      self.findTranscoding(of: broadcaster, for: mode) { continuation.resume(returning: $0) }
    }
  }

  /// Finds the frames of a stream or rendition as Constrained Baseline, which every browser decodes: encoded only while there
  /// are viewers of it; those of the stream or rendition keep what they have.
  ///
  /// - Parameters:
  ///   - mode: In mode 0 each slice is a packet, for clients without fragments.
  ///   - completion: Called on any thread, with nil when the encoder cannot be opened, or the stream has ended.
  private func findTranscoding(
    of broadcaster: WebRTCBroadcaster, for mode: H264PacketizationMode,
    _ completion: @escaping WebRTCBroadcaster.Completion
  ) {
    let stream = broadcaster.stream
    let original = broadcaster.rendition.map(WebRTCBroadcaster.Original.rendition) ?? .stream
    let bitrate = WebRTCBroadcaster.transcodingBitrate(of: original, stream)
    let rendition = self.transcodings.withLock { all -> StreamRendition? in
      // An encoder that failed is opened again by another one.
      all.removeAll { transcoding in
        let hasEnded = transcoding.stream.hasEnded || transcoding.original?.failure != nil
        guard hasEnded || transcoding.rendition.failure != nil else { return false }
        transcoding.stream.removePrivateRendition(transcoding.rendition)
        return true
      }
      let maximumSliceLength = mode == .singleNALUnit ? WebRTCMedia.maximumPayloadLength : nil
      let present = all.first {
        $0.stream === stream && $0.original === broadcaster.rendition
          && $0.rendition.maximumSliceLength == maximumSliceLength
      }
      if let present { return present.rendition }
      let made = stream.makePrivateRendition(
        like: broadcaster.rendition, bitrate: bitrate, profile: .baseline, maximumSliceLength: maximumSliceLength,
        isForViewers: true)
      if let made { all.append(Transcoding(stream: stream, original: broadcaster.rendition, rendition: made)) }
      return made
    }
    guard let rendition else { return completion(nil) }
    self.table.find(
      rendition, of: stream,
      making: { self.makeBroadcaster(of: $0, rendition: $1, original: original, descriptions: $2) }, completion)
  }

  /// Broadcasters of a stream, its renditions and their transcodings.
  func broadcasters(of stream: LiveStream) -> [WebRTCBroadcaster] {
    self.table.all.filter { $0.stream === stream }
  }

  /// Broadcasters of a rendition, and of its transcoding.
  func broadcasters(of rendition: StreamRendition) -> [WebRTCBroadcaster] {
    let all = self.transcodings.withLock { $0 }.filter { $0.original === rendition }.map(\.rendition) + [rendition]
    return self.table.all.filter { broadcaster in all.contains { $0 === broadcaster.rendition } }
  }

  /// Makes the broadcaster of a rendition.
  private var make: BroadcasterTable<WebRTCBroadcaster>.Make {
    { self.makeBroadcaster(of: $0, rendition: $1, descriptions: $2) }
  }
}
