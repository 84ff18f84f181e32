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

  /// An encoding of the frames of a rendition whose own encoding not every client decodes.
  private struct Transcoding {
    /// The rendition that it replaces.
    var original: Rendition
    var rendition: Rendition
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
    self.table.publish(self.makeBroadcaster(of: stream.main, descriptions: descriptions))
  }

  private func makeBroadcaster(
    of rendition: Rendition, original: Rendition? = nil, descriptions: [CodecDescription]
  ) -> WebRTCBroadcaster {
    WebRTCBroadcaster(
      rendition, original: original, descriptions: descriptions, hub: self.hub, refusals: self.refusals,
      lowerRenditions: { [weak self] in
        rendition.stream.renditions.filter { $0.failure == nil }.map { lower in
          WebRTCLowerRendition(bitrate: lower.bitrate) { [weak self] completion in
            guard let self else { return completion(nil) }
            self.table.find(lower, making: self.make, completion)
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

  /// The broadcaster of a rendition; nil where its stream is not published, and before the first viewer of one that is not the main
  /// one.
  func broadcaster(of rendition: Rendition) -> WebRTCBroadcaster? { self.table.broadcaster(of: rendition) }

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
    let original = broadcaster.rendition
    let rendition = self.transcodings.withLock { all -> Rendition? in
      // An encoder that failed is opened again by another one.
      all.removeAll { transcoding in
        guard transcoding.original.failure != nil || transcoding.rendition.failure != nil else { return false }
        transcoding.rendition.stream.removePrivateRendition(transcoding.rendition)
        return true
      }
      let maximumSliceLength = mode == .singleNALUnit ? WebRTCMedia.maximumPayloadLength : nil
      let present = all.first {
        $0.original == original && $0.rendition.encoding?.maximumSliceLength == maximumSliceLength
      }
      if let present { return present.rendition }
      let made = original.stream.makePrivateRendition(
        like: original, bitrate: WebRTCBroadcaster.transcodingBitrate(of: original), profile: .baseline,
        maximumSliceLength: maximumSliceLength, isForViewers: true)
      if let made { all.append(Transcoding(original: original, rendition: made)) }
      return made
    }
    guard let rendition else { return completion(nil) }
    self.table.find(
      rendition, making: { self.makeBroadcaster(of: $0, original: original, descriptions: $1) }, completion)
  }

  /// Broadcasters of a stream, its renditions and their transcodings.
  func broadcasters(of stream: LiveStream) -> [WebRTCBroadcaster] {
    self.table.all.filter { $0.stream === stream }
  }

  /// Broadcasters of a rendition, and of its transcoding.
  func broadcasters(of rendition: Rendition) -> [WebRTCBroadcaster] {
    let all = self.transcodings.withLock { $0 }.filter { $0.original == rendition }.map(\.rendition) + [rendition]
    return self.table.all.filter { all.contains($0.rendition) }
  }

  /// Makes the broadcaster of a rendition.
  private var make: BroadcasterTable<WebRTCBroadcaster>.Make {
    { self.makeBroadcaster(of: $0, descriptions: $1) }
  }
}
