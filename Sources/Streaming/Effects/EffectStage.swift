internal import Codecs
internal import Effects
internal import Media
internal import Synchronization
internal import Threading

/// Applies the stream's effects to frames and reports their metadata, on the pipeline's thread.
///
/// ``EncoderStage`` has one, and calls it with each frame that is to be encoded:
///
/// ```swift
/// let (frames, isHeldBack) = self.effects.process(drawn, from: frame, of: source.feed, completes: completes)
/// ```
final class EffectStage {
  /// View of the source: effects are restarted when it changes.
  private struct View {
    var feed: VideoFeed
    var orientation: Orientation
    var isMirrored: Bool
    var size: SIMD2<Int>

    func isContinued(by other: View) -> Bool {
      self.feed === other.feed && self.orientation == other.orientation && self.isMirrored == other.isMirrored
        && self.size == other.size
    }
  }

  private let shared: StreamState
  /// Time budget of all effects per frame: the frame interval.
  private let budget: MediaDuration
  private let clock = StreamClock.system
  private var view: View?
  /// Visible faces, for face events.
  private var faces: [Int: Face.Box] = [:]
  /// Face events not reported yet.
  private var events: [FaceEvent] = []
  /// Whether the last reported metadata is still valid.
  private var hasReported = false

  /// Maximum number of events kept while effects drop all frames.
  private static let maximumEvents = 256

  init(frameInterval: MediaDuration, shared: StreamState) {
    self.budget = frameInterval
    self.shared = shared
  }

  /// Applies the effects to a frame.
  ///
  /// - Parameters:
  ///   - drawn: The converted frame, not referenced elsewhere.
  ///   - source: The source's frame.
  ///   - completes: Whether no frame is to be held back by a privacy effect.
  /// - Returns: The frames to encode now, oldest first: without those that an effect drops or holds back.
  func process(
    _ drawn: VideoFrame, from source: VideoFrame, of feed: VideoFeed, completes: Bool
  ) -> (frames: [ReleasedFrame], isHeldBack: Bool) {
    let view = View(
      feed: feed, orientation: source.orientation, isMirrored: source.isMirrored,
      size: SIMD2(source.format.width, source.format.height))
    if self.view?.isContinued(by: view) == false { self.shared.effects.restart() }
    self.view = view

    var frame = EffectFrame(
      buffer: drawn.buffer, timestamp: drawn.timestamp, budget: self.budget, sourceOrientation: source.orientation)
    frame.captureLatency = drawn.captureLatency
    let (small, large) = (source.format, drawn.format)
    frame.enlargement = max(
      1,
      min(
        Float(max(large.width, large.height)) / Float(max(small.width, small.height, 1)),
        Float(min(large.width, large.height)) / Float(max(1, min(small.width, small.height)))))
    let start = self.clock.now()
    let progress = self.shared.effects.advance(frame, completes: completes, now: self.clock.now)
    let time = self.clock.now() - start
    let drops = progress.frames.count { $0.released == nil }
    self.shared.statistics.withLock {
      $0.framesWithEffects += 1
      $0.effectTime = $0.effectTime + time
      $0.framesDroppedByEffects += drops
    }
    for report in progress.reports { self.shared.report(.effect(report)) }
    var frames: [ReleasedFrame] = []
    for (metadata, timestamp, released) in progress.frames {
      self.note(metadata, at: timestamp)
      guard let released else { continue }
      self.report(metadata, of: released.frame)
      frames.append(released)
    }
    return (frames, progress.frames.isEmpty)
  }

  /// Passes a frame without effects: metadata reported before is no longer valid.
  func pass(_ frame: VideoFrame) {
    self.view = nil
    guard self.hasReported else { return }
    self.note(FrameMetadata(), at: frame.timestamp)
    self.report(FrameMetadata(), of: frame)
    self.hasReported = false
  }

  /// Marks the next frame as unrelated to the last one, since another source is shown.
  func interrupt() {
    guard let feed = self.view?.feed else { return }
    self.view = View(feed: feed, orientation: .up, isMirrored: false, size: .zero)
  }

  /// Collects face events. Without face tracking, all faces have left.
  private func note(_ metadata: FrameMetadata, at time: MediaTime) {
    self.events += metadata.faceEvents
    for event in metadata.faceEvents { self.faces[event.face] = event.kind == .left ? nil : event.box }
    if metadata.faceTracking == nil {
      for (face, box) in self.faces.sorted(by: { $0.key < $1.key }) {
        self.events.append(FaceEvent(.left, face: face, time: time, box: box))
      }
      self.faces = [:]
    }
    if self.events.count > Self.maximumEvents { self.events.removeFirst(self.events.count - Self.maximumEvents) }
  }

  private func report(_ metadata: FrameMetadata, of frame: VideoFrame) {
    var metadata = metadata
    metadata.faceEvents = self.events
    self.events = []
    self.hasReported = true
    self.shared.statistics.withLock { $0.faces = metadata.faces.count }
    let timed = TimedFrameMetadata(
      timestamp: frame.timestamp, width: frame.format.width, height: frame.format.height, metadata: metadata)
    self.shared.outputs.consume(timed)
    self.shared.metadata.yield(timed)
    for event in metadata.faceEvents { self.shared.faceEvents.yield(event) }
  }
}
