internal import CYUV
public import Media
internal import Synchronization

/// Finds faces and follows them, and writes what it knows into ``EffectFrame/metadata``; the frame stays as it is.
///
/// A detector looks at one square tile of the frame at a time, on a thread of its own; all tiles have had their turn after
/// a fifth of a second, or after as many frames as there are tiles, if that is more. In between each face is followed in
/// every frame by its mesh; with more than four faces they take turns.
public final class FaceTracker: VideoEffect {
  /// When the detector looks.
  public enum Detection: Hashable, Sendable {
    /// All the time, on a thread of its own: frames do not wait, and a face that comes into the frame is known after up
    /// to 0.3 s.
    case background
    /// In each frame, which waits for it (about 5 ms for each tile, two tiles at 1280 × 720): for privacy.
    case everyFrame
  }

  /// Settings of a tracker.
  public struct Settings: Hashable, Sendable {
    /// When the detector looks.
    public var detection: Detection
    /// How the frame must be turned for faces to stand upright: for cameras that hang upside down and do not say so.
    public var orientation: Orientation

    /// Settings.
    public init(detection: Detection = .background, orientation: Orientation = .up) {
      self.detection = detection
      self.orientation = orientation
    }
  }

  private struct State: ~Copyable {
    var detection: Detection
    /// The thread, once it was needed.
    var search: FaceSearch?
    var tracks = FaceTracks()
    var coarse: FaceMesher
    var fine: FaceMesher
    /// A tile in the size of the detector's input, before it is turned and after.
    var shrunk: PixelBuffer
    var upright: PixelBuffer
    var tiles: [FaceTile] = []
    /// When the frame was taken in which each tile was last looked at.
    var lookTimes: [MediaTime?] = []
    var nextTile = 0
    var lastStart: MediaTime?
    var size = SIMD2(0, 0)
    var lastTime: MediaTime?
    /// Memory for what models find.
    var found: [FaceCandidate] = []
    var mesh: FaceMesh
    var fineMesh: FaceMesh
    /// How long a mesh of few points takes.
    var unitCost = Duration.microseconds(1500)
  }

  /// Minimum score where no face must be missed: half of one, at the frame's edge and behind a hand, has 0.35. So has
  /// some place in every fifth frame without a face, which is reported as a possible face only.
  private static let minimumPrivateScore: Float = 0.33
  /// What was found longer ago does not count any more.
  private static let staleness = MediaDuration.milliseconds(700)
  /// In this time all tiles have their turn.
  private static let round = MediaDuration.milliseconds(190)

  private let settings: Settings
  private let state: Mutex<State>
  private let detect: FaceSearch.Detect

  /// A tracker.
  ///
  /// - Throws: A ``VidiconError`` where a model is missing or broken.
  public convenience init(models: FaceModels = FaceModels(), settings: Settings = Settings()) throws(VidiconError) {
    let detector = FaceDetectorBox(
      try FaceDetector(.fullRangeDetector, models: models, threshold: Self.minimumPrivateScore))
    try self.init(models: models, settings: settings) { input, found in
      detector.detect(in: input, into: &found)
      return true
    }
  }

  /// A tracker with a detector of one's own.
  ///
  /// - Parameter detect: Finds faces in a small, square frame.
  init(
    models: FaceModels, settings: Settings, detect: @escaping FaceSearch.Detect
  ) throws(VidiconError) {
    let side = FaceModel.fullRangeDetector.inputSide
    let format = VideoFormat(width: side, height: side)
    let coarse = try FaceMesher(.mesh, models: models), fine = try FaceMesher(.fineMesh, models: models)
    let mesh = FaceMesh(pointCount: coarse.pointCount), fineMesh = FaceMesh(pointCount: fine.pointCount)
    let state = State(
      detection: settings.detection, coarse: coarse, fine: fine, shrunk: PixelBuffer(format: format),
      upright: PixelBuffer(format: format), mesh: mesh, fineMesh: fineMesh)
    self.state = Mutex(state)
    self.settings = settings
    self.detect = detect
  }

  deinit { self.state.withLock { $0.search?.end() } }

  /// When the detector looks; changed at any time, and the faces stay known.
  public var detection: Detection {
    get { self.state.withLock { $0.detection } }
    set { self.state.withLock { $0.detection = newValue } }
  }

  /// Forgets the faces: a face in the frames that follow is new.
  public func prepare(for format: VideoFormat) {
    self.state.withLock { $0.size = .zero }
  }

  /// Finds the faces of a frame.
  public func process(_ frame: inout EffectFrame) -> EffectVerdict {
    let (time, budget) = (frame.timestamp, frame.budget)
    let videoFrame = frame.viewed
    self.state.withLock { state in
      self.adapt(&state, to: videoFrame)
      let isLooking =
        switch state.detection {
        case .everyFrame: self.lookNow(&state, videoFrame)
        case .background: self.collect(&state, videoFrame)
        }
      self.follow(&state, videoFrame, budget)
      let (faces, possible, events) = state.tracks.finish(at: time)
      (frame.metadata.faces, frame.metadata.possibleFaces) = (faces, possible)
      frame.metadata.faceEvents += events
      let isCurrent = state.lookTimes.allSatisfy { $0.map { time - $0 <= Self.staleness } ?? false }
      frame.metadata.faceTracking = !isLooking ? .failed : isCurrent ? .current : .behind
    }
    return .keep
  }

  /// Begins again where frames have another size, or come from before.
  private func adapt(_ state: inout State, to videoFrame: VideoFrame) {
    let size = SIMD2(videoFrame.format.width, videoFrame.format.height)
    let goesBack = state.lastTime.map { videoFrame.timestamp < $0 } ?? false
    state.lastTime = videoFrame.timestamp
    guard size != state.size || goesBack else { return }
    state.size = size
    state.tiles = FaceTile.covering(width: size.x, height: size.y)
    state.lookTimes = Array(repeating: nil, count: state.tiles.count)
    (state.nextTile, state.lastStart) = (0, nil)
    state.tracks.forget()
  }

  /// Looks at all tiles; whether that worked.
  private func lookNow(_ state: inout State, _ videoFrame: VideoFrame) -> Bool {
    state.found.removeAll(keepingCapacity: true)
    for index in state.tiles.indices {
      let tile = state.tiles[index]
      self.shrink(videoFrame, tile, via: state.shrunk, into: state.upright)
      let first = state.found.count
      guard self.detect(state.upright, &state.found) else { return false }
      for place in first..<state.found.count { state.found[place] = self.place(state.found[place], tile) }
      state.lookTimes[index] = videoFrame.timestamp
    }
    FaceCandidate.suppress(in: &state.found)
    state.tracks.see(state.found, at: videoFrame.timestamp)
    return true
  }

  /// Takes what the thread has found, and gives it the next tile when it is time; whether it is alive.
  private func collect(_ state: inout State, _ videoFrame: VideoFrame) -> Bool {
    let search = state.search ?? FaceSearch(side: FaceModel.fullRangeDetector.inputSide, detect: self.detect)
    state.search = search
    if let job = search.takeResult(&state.found), state.tiles.indices.contains(job.index),
      state.tiles[job.index] == job.tile, job.time <= videoFrame.timestamp
    {
      state.found.removeAll { $0.score < FaceTrack.likelyScore }
      FaceCandidate.suppress(in: &state.found)
      for place in state.found.indices { state.found[place] = self.place(state.found[place], job.tile) }
      state.tracks.see(state.found, at: job.time)
      state.lookTimes[job.index] = job.time
    }
    let interval = Self.round / Int64(max(1, state.tiles.count))
    let isDue = state.lastStart.map { videoFrame.timestamp - $0 >= interval } ?? true
    if isDue, !state.tiles.isEmpty, search.isIdle {
      let index = state.nextTile % state.tiles.count
      self.shrink(videoFrame, state.tiles[index], via: state.shrunk, into: search.input)
      search.start(FaceSearch.Job(index: index, tile: state.tiles[index], time: videoFrame.timestamp))
      state.nextTile = (index + 1) % state.tiles.count
      state.lastStart = videoFrame.timestamp
    }
    return !search.isDead
  }

  /// Looks for the faces that are known already.
  private func follow(_ state: inout State, _ videoFrame: VideoFrame, _ budget: MediaDuration) {
    let time = videoFrame.timestamp
    let affordable = budget.seconds / 2 / max(1e-4, state.unitCost / .seconds(1))
    for (index, isFine) in state.tracks.plan(units: Int(max(1, min(4, affordable))), at: time) {
      let start = ContinuousClock.now
      state.coarse.find(&state.mesh, in: videoFrame, region: state.tracks.region(of: index, at: time))
      // A mean of the last ones.
      state.unitCost = state.unitCost * 0.9 + (ContinuousClock.now - start) * 0.1
      state.tracks.update(index, state.mesh, at: time)
      let track = state.tracks.tracks[index]
      if track.isVisible, track.missCount == 0, isFine || track.wantsFineMesh && affordable >= 4 {
        state.fine.find(&state.fineMesh, in: videoFrame, region: track.region)
        state.tracks.updateEyes(index, state.fineMesh, at: time)
      }
    }
  }

  /// A tile as the detector sees it: small, and upright.
  private func shrink(_ videoFrame: VideoFrame, _ tile: FaceTile, via memory: PixelBuffer, into target: PixelBuffer) {
    let mode: RotationModeEnum
    switch self.settings.orientation {
    case .up: return FaceDetector.shrink(videoFrame, tile, into: target)
    case .right: mode = kRotate90
    case .down: mode = kRotate180
    case .left: mode = kRotate270
    }
    FaceDetector.shrink(videoFrame, tile, into: memory)
    let (from, to, side) = (Canvas(memory).pointers(), Canvas(target).pointers(), Int32(target.format.width))
    _ = I420Rotate(
      from.luma, from.lumaStride, from.cb, from.chromaStride, from.cr, from.chromaStride, to.luma, to.lumaStride,
      to.cb, to.chromaStride, to.cr, to.chromaStride, side, side, mode)
  }

  /// A candidate of a tile in the frame's pixels.
  private func place(_ candidate: FaceCandidate, _ tile: FaceTile) -> FaceCandidate {
    let side = Float(tile.side)
    return candidate.turnedBack(self.settings.orientation).moved(
      by: SIMD2(Float(tile.x), Float(tile.y)), scaledBy: SIMD2(side, side))
  }
}
