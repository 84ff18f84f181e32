internal import Codecs
internal import Effects
internal import Media

/// Pipeline side of the renditions: scales each released frame once for each size in use. Without use a frame costs one atomic
/// load.
final class RenditionScaler {
  private struct Size: Hashable {
    var width: Int
    var height: Int
  }

  private let renditions: RenditionSet
  private var pools: [Size: VideoFramePool] = [:]
  /// The last frame in the sizes in use, until it was offered to all.
  private var scaled: (time: MediaTime, frames: [Size: ReleasedFrame])?
  /// Frames that were scaled, once for each size.
  private(set) var scaledCount = 0
  /// Requests that the main rendition cannot meet, because it is passed through.
  private var requests: KeyframeRequests

  /// - Parameter keyframeInterval: Maximum time between two keyframes of the stream.
  init(_ renditions: RenditionSet, keyframeInterval: MediaDuration) {
    self.renditions = renditions
    // Beyond the keyframes of most sources, which renditions share.
    self.requests = KeyframeRequests(maximumInterval: keyframeInterval * 2)
  }

  /// Whether frames are to be offered.
  var isNeeded: Bool { self.renditions.isInUse }

  /// Number of calls of ``RenditionSet/discardEarlier()``; read before effects see a frame.
  var generation: Int { self.renditions.generation }

  /// Offers a frame that the main rendition is about to encode to the encodings that make keyframes on request.
  ///
  /// - Parameter generation: ``generation`` before the frame was released.
  func offerEarly(_ frame: ReleasedFrame, generation: Int) {
    guard self.isNeeded else { return }
    self.enqueue(frame, isKeyframe: false, generation: generation, onRequest: true)
  }

  /// Offers a frame that the main rendition has encoded to the others.
  ///
  /// - Parameter generation: ``generation`` before the frame was released: it is dropped where it has changed since.
  func offer(_ frame: ReleasedFrame, isKeyframe: Bool, generation: Int, at now: MediaTime) {
    guard self.isNeeded else { return self.rest() }
    // The main rendition has met the requests, or will.
    _ = self.renditions.takeKeyframeRequest()
    if isKeyframe { self.requests.keyframeEncoded(at: now) }
    self.enqueue(frame, isKeyframe: isKeyframe, generation: generation, onRequest: false)
    self.scaled = nil
  }

  /// Offers a frame decoded from a sample that was passed through.
  ///
  /// - Parameters:
  ///   - isKeyframe: Whether the sample is a keyframe.
  ///   - generation: ``generation`` before the frame was released.
  func offerDecoded(_ frame: ReleasedFrame, isKeyframe: Bool, generation: Int, at now: MediaTime) {
    guard self.isNeeded else { return self.rest() }
    if self.renditions.takeKeyframeRequest() { self.requests.request() }
    let isKeyframe = isKeyframe || self.requests.forcesKeyframe(at: now)
    if isKeyframe { self.requests.keyframeEncoded(at: now) }
    self.enqueue(frame, isKeyframe: false, generation: generation, onRequest: true)
    self.enqueue(frame, isKeyframe: isKeyframe, generation: generation, onRequest: false)
    self.scaled = nil
  }

  /// - Parameter onRequest: Whether it is for the encodings that make keyframes on request, or for the others.
  private func enqueue(_ frame: ReleasedFrame, isKeyframe: Bool, generation: Int, onRequest: Bool) {
    let time = frame.frame.timestamp
    if self.scaled?.time != time { self.scaled = (time, [:]) }
    for rendition in self.renditions.encoded
    where rendition.makesKeyframesOnRequest == onRequest && rendition.accepts(time, isKeyframe: isKeyframe) {
      let size = Size(width: rendition.format.width, height: rendition.format.height)
      let present = self.scaled?.frames[size]
      guard let frame = present ?? frame.scaled(with: self.pool(size, of: rendition)) else {
        rendition.countDrops(1)
        continue
      }
      if present == nil { self.scaledCount += 1 }
      self.scaled?.frames[size] = frame
      rendition.enqueue(frame, forcesKeyframe: isKeyframe, generation: generation)
    }
  }

  private func pool(_ size: Size, of rendition: RenditionEncoding) -> VideoFramePool {
    if let pool = self.pools[size] { return pool }
    // Of renditions that were removed.
    if self.pools.count >= RenditionSettings.maximumCount { self.pools = [:] }
    let pool = VideoFramePool(
      format: rendition.format, capacity: (RenditionEncoding.maximumQueueCount + 2) * RenditionSettings.maximumCount)
    self.pools[size] = pool
    return pool
  }

  /// Frees the memory of scaled frames.
  private func rest() {
    self.scaled = nil
    if !self.pools.isEmpty { self.pools = [:] }
  }
}
