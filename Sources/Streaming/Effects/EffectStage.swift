internal import Effects
internal import Media
internal import Synchronization
internal import Threading

/// Where pictures go through the stream's effects, and what those find out is told. It lives on the pipeline's thread.
final class EffectStage {
  /// What the pictures that follow each other have in common.
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
  /// What all effects may take for a picture: as long as there is until the next one.
  private let budget: MediaDuration
  private let tell: (PictureMetadata) -> Void
  private let clock = StreamClock.system
  private var view: View?
  /// The faces that are in the picture, for those who listen.
  private var faces: [Int: Face.Box] = [:]
  /// What has happened since something was told.
  private var events: [FaceEvent] = []
  /// Whether the last thing that was told still stands.
  private var hasTold = false

  /// The most events that are kept while effects drop all pictures.
  private static let mostEvents = 256

  /// - Parameter tell: Told of each picture that has gone through effects, before it is encoded.
  init(frameInterval: MediaDuration, shared: StreamState, tell: @escaping (PictureMetadata) -> Void) {
    self.budget = frameInterval
    self.shared = shared
    self.tell = tell
  }

  /// Sends a picture through the effects.
  ///
  /// - Parameters:
  ///   - drawn: The picture on the canvas, which nobody else has.
  ///   - source: What it was drawn from.
  /// - Returns: The picture for the encoder; nil where nobody is to see it.
  func process(_ drawn: VideoFrame, from source: VideoFrame, of feed: VideoFeed) -> VideoFrame? {
    let view = View(
      feed: feed, orientation: source.orientation, isMirrored: source.isMirrored,
      size: SIMD2(source.format.width, source.format.height))
    if self.view?.isContinued(by: view) == false { self.shared.effects.restart() }
    self.view = view

    var frame = EffectFrame(
      buffer: drawn.buffer, timestamp: drawn.timestamp, budget: self.budget, sourceOrientation: source.orientation)
    let start = self.clock.now()
    let outcome = self.shared.effects.process(&frame, now: self.clock.now)
    let time = self.clock.now() - start
    self.shared.statistics.withLock {
      $0.framesWithEffects += 1
      $0.effectTime = $0.effectTime + time
      $0.framesDroppedByEffects += outcome.isDropped ? 1 : 0
    }
    for report in outcome.reports { self.shared.report(.effect(report)) }
    self.note(frame.metadata, at: drawn.timestamp)
    guard !outcome.isDropped else { return nil }
    self.tell(frame.metadata, of: drawn)
    return VideoFrame(buffer: frame.buffer, timestamp: drawn.timestamp, captureDelay: drawn.captureDelay)
  }

  /// A picture goes on without effects: what was told before does not stand any more.
  func pass(_ picture: VideoFrame) {
    self.view = nil
    guard self.hasTold else { return }
    self.note(FrameMetadata(), at: picture.timestamp)
    self.tell(FrameMetadata(), of: picture)
    self.hasTold = false
  }

  /// Something else is shown: the next picture has nothing in common with the last one.
  func interrupt() {
    guard let feed = self.view?.feed else { return }
    self.view = View(feed: feed, orientation: .up, isMirrored: false, size: .zero)
  }

  /// Keeps what has happened to faces. Where nobody looks for faces any more, they have left.
  private func note(_ metadata: FrameMetadata, at time: MediaTime) {
    self.events += metadata.faceEvents
    for event in metadata.faceEvents { self.faces[event.face] = event.kind == .left ? nil : event.box }
    if metadata.faceTracking == nil {
      for (face, box) in self.faces.sorted(by: { $0.key < $1.key }) {
        self.events.append(FaceEvent(.left, face: face, time: time, box: box))
      }
      self.faces = [:]
    }
    if self.events.count > Self.mostEvents { self.events.removeFirst(self.events.count - Self.mostEvents) }
  }

  private func tell(_ metadata: FrameMetadata, of picture: VideoFrame) {
    var metadata = metadata
    metadata.faceEvents = self.events
    self.events = []
    self.hasTold = true
    self.shared.statistics.withLock { $0.faces = metadata.faces.count }
    let told = PictureMetadata(
      timestamp: picture.timestamp, width: picture.format.width, height: picture.format.height, metadata: metadata)
    self.tell(told)
    self.shared.metadata.yield(told)
    for event in metadata.faceEvents { self.shared.faceEvents.yield(event) }
  }
}
