internal import CYUV
public import Media
internal import Synchronization

/// Detects and tracks faces, and adds them to ``EffectFrame/metadata``; the pixels are not changed.
///
/// The detector searches one square tile of the frame at a time on its own thread; all tiles are searched within a
/// fifth of a second, or within as many frames as there are tiles, if that is longer. In between, each face is tracked
/// in every frame by its mesh; more than four faces take turns.
public final class FaceTracker: VideoEffect {
  /// Schedule of the detector: continuous in the background, or in every frame.
  public enum Detection: Hashable, Sendable {
    /// Continuous, on its own thread: frames do not wait, and a new face is known after up to 0.3 s.
    case background
    /// In each frame, which waits for it (about 5 ms per tile, two tiles at 1280 × 720): for files and measurements. There is
    /// no deadline: a model that hangs stops the stream. ``PrivacyMask`` has a search of its own, with one.
    case everyFrame
  }

  /// Settings of a tracker: when faces are searched, and how the camera is mounted.
  public struct Settings: Hashable, Sendable {
    /// Schedule of the detector; ``Detection/background`` by default.
    public var detection: Detection
    /// Rotation that makes faces upright: for cameras that are mounted upside down and do not report it.
    public var orientation: Orientation

    /// Creates settings; by default detection in the background, of an upright camera.
    public init(detection: Detection = .background, orientation: Orientation = .up) {
      self.detection = detection
      self.orientation = orientation
    }
  }

  private struct State: ~Copyable {
    var detection: Detection
    /// The detector's thread, started when needed.
    var search: FaceSearch?
    /// The detector of ``Detection/everyFrame``, created when needed.
    var detect: FaceSearch.Detect?
    var tracks = FaceTracks()
    var coarse: FaceMesher
    var fine: FaceMesher
    /// A tile scaled to the detector's input size, before and after rotation.
    var shrunk: PixelBuffer
    var upright: PixelBuffer
    var tiles: [FaceTile] = []
    /// Timestamp of the frame in which each tile was last searched.
    var searchTimes: [MediaTime?] = []
    var nextTile = 0
    var lastStart: MediaTime?
    var size = SIMD2(0, 0)
    var lastTime: MediaTime?
    /// Time since which parts of the frame are not searched in time; nil while they are.
    var behindSince: MediaTime?
    /// Memory for candidates.
    var found: [FaceCandidate] = []
    var mesh: FaceMesh
    var fineMesh: FaceMesh
    /// Duration of the smaller mesh.
    var unitCost = Duration.microseconds(1500)
  }

  /// Minimum score for privacy: half a face at the frame's edge, behind a hand, scores 0.35. So does some area in every
  /// fifth frame without a face; such candidates are reported as possible faces only.
  private static let minimumPrivateScore: Float = 0.33
  /// Maximum age of candidates that are used.
  private static let maximumCandidateAge = MediaDuration.milliseconds(700)
  /// Time in which all tiles are searched.
  private static let searchPeriod = MediaDuration.milliseconds(190)

  private let settings: Settings
  private let state: Mutex<State>
  private let makeDetect: FaceSearch.MakeDetect
  private let hung: HungDetections
  private let searchTimeout: MediaDuration

  /// Creates a tracker.
  ///
  /// - Throws: ``VidiconError`` when a model is missing or invalid.
  public convenience init(models: FaceModels = FaceModels(), settings: Settings = Settings()) throws(VidiconError) {
    let plan = try models.plan(for: .fullRangeDetector)
    let makeDetect: FaceSearch.MakeDetect = {
      // A thread that hangs keeps its detector.
      let detector = FaceDetectorBox(FaceDetector(.fullRangeDetector, plan: plan, threshold: Self.minimumPrivateScore))
      return { input, found in
        detector.detect(in: input, into: &found)
        return true
      }
    }
    try self.init(makeDetect, models: models, settings: settings, hung: .ofProcess, searchTimeout: Self.tolerance)
  }

  /// Creates a tracker with a custom detector.
  ///
  /// - Parameters:
  ///   - hung: Threads of detectors that hang; with too many of them none is started.
  ///   - searchTimeout: Time after which a thread that hangs is replaced.
  ///   - detect: Detects faces in a small, square frame; called on one thread at a time, unless one hangs.
  convenience init(
    models: FaceModels, settings: Settings, hung: HungDetections = .ofProcess,
    searchTimeout: MediaDuration = FaceTracker.tolerance, detect: @escaping FaceSearch.Detect
  ) throws(VidiconError) {
    try self.init({ detect }, models: models, settings: settings, hung: hung, searchTimeout: searchTimeout)
  }

  private init(
    _ makeDetect: @escaping FaceSearch.MakeDetect, models: FaceModels, settings: Settings, hung: HungDetections,
    searchTimeout: MediaDuration
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
    (self.makeDetect, self.hung, self.searchTimeout) = (makeDetect, hung, searchTimeout)
  }

  deinit { self.state.withLock { $0.search?.end() } }

  /// Schedule of the detector. Can be changed at any time; known faces are kept.
  public var detection: Detection {
    get { self.state.withLock { $0.detection } }
    set { self.state.withLock { $0.detection = newValue } }
  }

  /// Drops the known faces: faces in the following frames are new.
  public func prepare(for format: VideoFormat) {
    self.state.withLock { $0.size = .zero }
  }

  /// Time for which the search may be behind before it is reported, and for which a model may run before its thread is
  /// replaced.
  static let tolerance = MediaDuration.seconds(2)

  /// Tracks the faces of a frame.
  ///
  /// - Throws: When the detector has failed, or parts of the frame have not been searched for two seconds: masks may be
  ///   missing or misplaced.
  public func process(_ frame: inout EffectFrame) throws -> EffectVerdict {
    let (time, budget) = (frame.timestamp, frame.budget)
    let videoFrame = frame.viewed
    let error = self.state.withLock { state -> TrackingError? in
      self.adapt(&state, to: videoFrame)
      let hasDetector =
        switch state.detection {
        case .everyFrame: self.searchAllTiles(&state, videoFrame)
        case .background: self.collect(&state, videoFrame)
        }
      self.follow(&state, videoFrame, budget)
      let (faces, possible, events) = state.tracks.finish(at: time)
      (frame.metadata.faces, frame.metadata.possibleFaces) = (faces, possible)
      frame.metadata.faceEvents += events
      let isCurrent = state.searchTimes.allSatisfy { $0.map { time - $0 <= Self.maximumCandidateAge } ?? false }
      frame.metadata.faceTracking = !hasDetector ? .failed : isCurrent ? .current : .behind
      state.behindSince = isCurrent ? nil : state.behindSince ?? time
      let isTooLong = state.behindSince.map { time - $0 >= Self.tolerance } ?? false
      return hasDetector
        ? isTooLong ? TrackingError(cause: "the search for faces is behind") : nil
        : TrackingError(cause: "the search for faces has failed")
    }
    if let error { throw error }
    return .keep
  }

  /// Resets the state when the frame size changes or timestamps go back.
  private func adapt(_ state: inout State, to videoFrame: VideoFrame) {
    let size = SIMD2(videoFrame.format.width, videoFrame.format.height)
    let goesBack = state.lastTime.map { videoFrame.timestamp < $0 } ?? false
    state.lastTime = videoFrame.timestamp
    guard size != state.size || goesBack else { return }
    state.size = size
    state.tiles = FaceTile.covering(width: size.x, height: size.y)
    state.searchTimes = Array(repeating: nil, count: state.tiles.count)
    (state.nextTile, state.lastStart) = (0, nil)
    state.tracks.forget()
    state.behindSince = nil
  }

  private struct TrackingError: Error, CustomStringConvertible {
    var cause: String
    var description: String { "\(self.cause); masks may be missing" }
  }

  /// Searches all tiles; returns whether the detector succeeded.
  private func searchAllTiles(_ state: inout State, _ videoFrame: VideoFrame) -> Bool {
    state.found.removeAll(keepingCapacity: true)
    let detect = state.detect ?? self.makeDetect()
    state.detect = detect
    for index in state.tiles.indices {
      let tile = state.tiles[index]
      self.shrink(videoFrame, tile, via: state.shrunk, into: state.upright)
      let first = state.found.count
      guard detect(state.upright, &state.found) else { return false }
      for place in first..<state.found.count { state.found[place] = self.place(state.found[place], tile) }
      state.searchTimes[index] = videoFrame.timestamp
    }
    FaceCandidate.suppress(in: &state.found)
    state.tracks.see(state.found, at: videoFrame.timestamp)
    return true
  }

  /// Fetches the thread's result, and starts the next tile when it is due; returns whether the thread is alive.
  private func collect(_ state: inout State, _ videoFrame: VideoFrame) -> Bool {
    var search =
      state.search
      ?? FaceSearch(
        side: FaceModel.fullRangeDetector.inputSide, timeout: self.searchTimeout, hung: self.hung,
        makeDetect: self.makeDetect)
    defer { state.search = search }
    if let job = search.takeResult(&state.found), state.tiles.indices.contains(job.index),
      state.tiles[job.index] == job.tile, job.time <= videoFrame.timestamp
    {
      state.found.removeAll { $0.score < FaceTrack.likelyScore }
      FaceCandidate.suppress(in: &state.found)
      for place in state.found.indices { state.found[place] = self.place(state.found[place], job.tile) }
      state.tracks.see(state.found, at: job.time)
      state.searchTimes[job.index] = job.time
    }
    search.superviseThread()
    let interval = Self.searchPeriod / Int64(max(1, state.tiles.count))
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

  /// Computes the meshes of known faces.
  private func follow(_ state: inout State, _ videoFrame: VideoFrame, _ budget: MediaDuration) {
    let time = videoFrame.timestamp
    let affordable = budget.seconds / 2 / max(1e-4, state.unitCost / .seconds(1))
    for (index, isFine) in state.tracks.plan(units: Int(max(1, min(4, affordable))), at: time) {
      let start = ContinuousClock.now
      state.coarse.find(&state.mesh, in: videoFrame, region: state.tracks.region(of: index, at: time))
      // Moving average.
      state.unitCost = state.unitCost * 0.9 + (ContinuousClock.now - start) * 0.1
      state.tracks.update(index, state.mesh, at: time)
      let track = state.tracks.tracks[index]
      if track.isVisible, track.missCount == 0, isFine || track.needsFineMesh && affordable >= 4 {
        state.fine.find(&state.fineMesh, in: videoFrame, region: track.region)
        state.tracks.updateEyes(index, state.fineMesh, at: time)
      }
    }
  }

  /// Scales a tile to the detector's input size and rotates it upright.
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

  /// Maps a candidate from its tile to the frame's pixels.
  private func place(_ candidate: FaceCandidate, _ tile: FaceTile) -> FaceCandidate {
    let side = Float(tile.side)
    return candidate.turnedBack(self.settings.orientation).moved(
      by: SIMD2(Float(tile.x), Float(tile.y)), scaledBy: SIMD2(side, side))
  }
}
