public import Media
internal import Synchronization

/// Covers faces with opaque boxes that are larger than the faces. Searches frames in all orientations with models of its own,
/// and holds frames back until a round of the search is over; areas that are not searched in time are covered.
///
/// A frame shows a place only if that place was searched upright and turned by 90°, 180° and 270°, at all sizes from the
/// smallest promised one, in this frame or one of the two after it, or has not changed since that was done in the last
/// second. Every candidate is covered, in all frames of its round and for 1.25 s after it, and so is each face that a
/// ``FaceTracker`` earlier in the chain follows. Covered is also what only may be a face, so that boxes come and go where
/// there is none.
///
/// The whole frame is covered where the detector has failed or hangs, where there are more candidates, or more faces
/// smaller than promised, than can be handled, and where there is no detector.
///
/// No guarantee: the models do not find every face; see `docs/faces.md`. Audio is not altered.
public final class PrivacyMask: HoldingEffect {
  /// Frames are covered whole while the effect fails.
  public var isPrivacy: Bool { true }

  private struct Cover {
    var face: Int
    var outline: FaceOutline
    var lastTime: MediaTime
    /// Whether a mesh has said that it is a face.
    var isSure: Bool

    init(_ face: Face, at time: MediaTime) {
      (self.face, self.outline, self.lastTime) = (face.id, FaceOutline(face, .face), time)
      self.isSure = !face.mesh.isEmpty
    }
  }

  private struct State {
    var painter = ShapePainter()
    var covers: [Cover] = []
    var search: PrivacySearch?
    var supervision = PrivacySearch.Supervision()
    /// The limit of the search that was reported last.
    var limit: String?
  }

  /// Lifetime of the box of a tracked face that no mesh has confirmed.
  private static let doubtfulHold = MediaDuration.milliseconds(500)

  /// Default smallest face relative to the frame's shorter side: 40 pixels of 720. Faces of less than 20 pixels of the source
  /// may be missed; an ``EffectReport`` says where that is more.
  public static let defaultMinimumFace = PrivacyLayout.defaultMinimumFace
  /// Range of the smallest face's size, relative to the frame's shorter side.
  public static let minimumFaceRange = 0.02...0.5

  /// Smallest face that is searched for, relative to the frame's shorter side.
  let minimumFace: Float
  private let color: FrameColor
  private let growth: Float
  private let hold: MediaDuration
  private let state: Mutex<State>
  private let cancellation: SearchCancellation
  /// Whether the mask has a detector.
  let hasDetector: Bool
  /// Whether the privacy of another stream demands it.
  fileprivate let isDemanded: Bool

  /// A mask without a detector: it covers the whole frame.
  ///
  /// - Parameters:
  ///   - growth: How many times larger than a tracked face its box is, at least 1.
  ///   - hold: How long a box stays after a tracked face was last seen; half a second at most over what may be none.
  public convenience init(
    color: FrameColor = FrameColor(luma: 40), growth: Float = 1.4, hold: MediaDuration = .milliseconds(1500)
  ) {
    self.init(color: color, growth: growth, hold: hold, search: nil)
  }

  /// A mask that searches for faces.
  ///
  /// - Parameters:
  ///   - models: The detectors; both are read now.
  ///   - minimumFace: Size of the smallest face that is to be found, relative to the frame's shorter side. Smaller ones
  ///     cost time in inverse proportion to their area.
  /// - Throws: ``VidiconError`` when a model is missing or invalid.
  public convenience init(
    models: FaceModels, minimumFace: Float = PrivacyMask.defaultMinimumFace, color: FrameColor = FrameColor(luma: 40)
  ) throws(VidiconError) {
    let plans = try FaceDetectorPlans(models)
    self.init(minimumFace: minimumFace, color: color, hung: .ofProcess) { plans.makeDetect() }
  }

  /// A mask for measurements, whose search is never cut short.
  package convenience init(models: FaceModels, weakCandidates: WeakCandidates) throws(VidiconError) {
    let plans = try FaceDetectorPlans(models)
    var limits = PrivacySearch.Limits.unlimited
    limits.weakCandidates = weakCandidates
    self.init(limits: limits, hung: .ofProcess) { plans.makeDetect() }
  }

  /// A mask with custom detectors.
  ///
  /// - Parameter hung: Shared by masks that start no further threads together once too many hang.
  convenience init(
    minimumFace: Float = PrivacyMask.defaultMinimumFace, color: FrameColor = FrameColor(luma: 40),
    limits: PrivacySearch.Limits = PrivacySearch.Limits(), hung: HungDetections = HungDetections(),
    makeDetect: @escaping PrivacySearch.MakeDetect
  ) {
    let range = Self.minimumFaceRange
    let bounded = Float(max(range.lowerBound, min(range.upperBound, Double(minimumFace))))
    let cancellation = SearchCancellation()
    let search = PrivacySearch(
      minimumFace: bounded, limits: limits, hung: hung, cancellation: cancellation, makeDetect: makeDetect)
    self.init(color: color, growth: 1.4, hold: .milliseconds(1500), search: search, cancellation: cancellation)
  }

  /// A mask over the whole frames of a stream that shows what another stream hides. The owner of the stream cannot remove it.
  package static func imposed() -> PrivacyMask {
    PrivacyMask(color: FrameColor(luma: 40), growth: 1.4, hold: .milliseconds(1500), search: nil, isImposed: true)
  }

  private init(
    color: FrameColor, growth: Float, hold: MediaDuration, search: PrivacySearch?,
    cancellation: SearchCancellation = SearchCancellation(), isImposed: Bool = false
  ) {
    (self.color, self.growth, self.hold) = (color, max(1, growth), hold)
    self.minimumFace = search?.minimumFace ?? PrivacyMask.defaultMinimumFace
    (self.cancellation, self.hasDetector, self.isDemanded) = (cancellation, search != nil, isImposed)
    self.state = Mutex(State(search: search))
  }

  /// Number of runs of models so far: parts of the search, and second looks.
  package var modelRuns: (searches: Int, looks: Int) {
    self.state.withLock { ($0.search?.modelRuns.searches ?? 0, $0.search?.modelRuns.looks ?? 0) }
  }

  deinit { self.state.withLock { $0.search?.stop() } }

  /// Forgets all faces: boxes belong to places in frames of one source and size.
  public func prepare(for format: VideoFormat) {
    self.state.withLock {
      $0.covers = []
      $0.search?.reset()
    }
  }

  /// Searches a frame completely, and covers its faces.
  public func process(_ frame: inout EffectFrame) -> EffectVerdict {
    let released = self.submit(frame, completes: true)
    guard let last = released.frames.last else { return .cover }
    frame = last.frame
    return last.verdict
  }

  func cancel() { self.cancellation.cancel() }

  func submit(_ frame: EffectFrame, completes: Bool) -> HeldFrames {
    self.state.withLock { state in
      guard state.search != nil else { return HeldFrames(frames: [CoveredFrame(whole: frame)]) }
      let before = state.supervision
      let results = state.search?.add(frame, completes: completes) ?? []
      let supervision = state.search?.supervision ?? before
      state.supervision = supervision
      var released = HeldFrames()
      for result in results { released.frames.append(self.cover(result, &state)) }
      if let limit = state.search?.limit, limit != state.limit {
        (state.limit, released.limit) = (limit, limit)
      }
      (released.stalls, released.failures) = (
        supervision.stalls - before.stalls, supervision.failures - before.failures
      )
      if supervision.isGivenUp, released.stalls > 0 || !before.isGivenUp {
        released.failure =
          "the search for faces hangs again; everything is covered until it answers: restart the program"
      } else if released.stalls > 0 {
        released.failure = "the search for faces hangs; it is started again, and what it cannot search is covered"
      } else if released.failures > 0 {
        released.failure = "the search for faces has failed; it is started again, and what it cannot search is covered"
      }
      return released
    }
  }

  private func cover(_ result: PrivacySearch.Result, _ state: inout State) -> CoveredFrame {
    let (time, canvas) = (result.frame.timestamp, Canvas(result.frame.buffer))
    let (faces, possible) = (result.frame.metadata.faces, result.frame.metadata.possibleFaces)
    func isPresent(_ id: Int) -> Bool { faces.contains { $0.id == id } || possible.contains { $0.id == id } }
    state.covers.removeAll {
      let hold = $0.isSure ? self.hold : min(self.hold, Self.doubtfulHold)
      return isPresent($0.face) || time - $0.lastTime > hold || time < $0.lastTime
    }
    for face in faces { state.covers.append(Cover(face, at: time)) }
    for face in possible { state.covers.append(Cover(face, at: time)) }
    for cover in state.covers {
      var shape = cover.outline.shape(.box)
      // Grows by half its size in the first second without a detection: the face may have moved.
      let size = self.growth + min(1, Float((time - cover.lastTime).seconds)) / 2
      (shape.right, shape.down, shape.feather) = (shape.right * size, shape.down * size, 1)
      state.painter.paint(shape, .solid(self.color), on: canvas)
    }
    return CoveredFrame(result, color: self.color)
  }
}

extension VideoEffect {
  /// Whether the privacy of another stream demands it, see ``PrivacyMask/imposed()``.
  package var isImposed: Bool { (self as? PrivacyMask)?.isDemanded ?? false }
}
