internal import Media

/// State of one face from frame to frame.
struct FaceTrack {
  let id: Int
  /// Minimum score of a detection that is likely a face.
  static let likelyScore: Float = 0.6

  /// Whether a mesh has confirmed the face, and a detector has found it with ``likelyScore``; an unconfirmed track may
  /// not be a face.
  private(set) var isConfirmed = false
  /// Whether a detector has found it with ``likelyScore``.
  private var isLikely: Bool
  /// Region for the next mesh.
  private(set) var region: FaceRegion
  /// Time of the last mesh with a face; before the first one, of the detection.
  private(set) var seenTime: MediaTime
  /// Time of the last attempt to compute a mesh.
  private(set) var triedTime: MediaTime?
  /// Time of the last mesh with precise eyes.
  private(set) var fineTime: MediaTime?
  /// Number of consecutive meshes without a face.
  private(set) var missCount = 0
  /// Whether another face is in front of it: its motion is extrapolated until a detector finds it again.
  private(set) var isHidden = false
  /// Recent distance between expected and found positions, in sizes of the face.
  private(set) var surprise: Float = 0
  private(set) var eyes = EyeState()
  private(set) var smile = SmileState()
  private(set) var points: [SIMD3<Float>] = []
  /// Previous points; their memory is reused for the next ones.
  private var pointsBefore: [SIMD3<Float>] = []
  /// Extrapolated ``points`` while the mesh does not see the face: memory of ``face(at:)``.
  private var expected: [SIMD3<Float>] = []
  private(set) var confidence: Float
  /// Pixels per second.
  private var velocity = SIMD2<Float>(0, 0)
  /// Center of the face, not smoothed, and the time of that position.
  private var center: SIMD2<Float>
  private var centerTime: MediaTime
  private var found: FaceCandidate
  /// Maximum of width and height of the face.
  private(set) var size: Float

  init(id: Int, _ candidate: FaceCandidate, at time: MediaTime) {
    self.id = id
    self.region = FaceRegion(candidate)
    self.found = candidate
    (self.center, self.centerTime) = (candidate.center, time)
    self.size = max(1, candidate.size.max())
    self.seenTime = time
    self.confidence = candidate.score
    self.isLikely = candidate.score >= Self.likelyScore
  }

  /// Position of the face's center at a time, interpolated or extrapolated.
  func center(at time: MediaTime) -> SIMD2<Float> {
    // Motion is extrapolated linearly for at most half a second.
    let elapsed = max(-0.3, min(0.5, Float((time - self.centerTime).seconds)))
    return self.center + self.velocity * elapsed
  }

  /// Whether a mesh is to be computed.
  var isVisible: Bool { !self.isHidden }

  /// Whether the smaller mesh indicates that the eyes may be closing.
  var needsFineMesh: Bool { self.eyes.isSuspicious }

  /// Updates the track with a new detection of the face.
  mutating func find(_ candidate: FaceCandidate, at time: MediaTime) {
    self.found = candidate
    self.isLikely = self.isLikely || candidate.score >= Self.likelyScore
    let offset = candidate.center - self.center(at: time)
    let isFarOff = (offset * offset).sum().squareRoot() > 0.35 * self.size
    guard self.missCount > 0 || self.isHidden || isFarOff || self.points.isEmpty else { return }
    self.region = FaceRegion(candidate)
    if self.missCount > 0 || self.isHidden { self.velocity = SIMD2(0, 0) }
    (self.center, self.centerTime) = (candidate.center, time)
    self.size = max(1, candidate.size.max())
    self.missCount = 0
    self.isHidden = false
    self.surprise = 0
  }

  /// Updates the track with the mesh computed in ``region``.
  mutating func update(_ mesh: FaceMesh, at time: MediaTime) {
    self.triedTime = time
    guard mesh.presence > 0.5, let next = FaceRegion(plausible: mesh) else {
      self.missCount += 1
      // Expected position, should the face continue its motion.
      self.region.center = self.center(at: time)
      return
    }
    let (low, high) = mesh.bounds
    let (newCenter, newSize) = ((low + high) / 2, max(1, (high - low).max()))
    let elapsed = Float((time - self.centerTime).seconds)
    var speed: Float = 0
    if self.isConfirmed, elapsed > 0 {
      let moved = newCenter - self.center
      let missed = newCenter - self.center(at: time)
      self.surprise = 0.6 * self.surprise + 0.4 * (missed * missed).sum().squareRoot() / newSize
      self.velocity = 0.4 * self.velocity + 0.6 * moved / elapsed
      speed = ((moved * moved).sum().squareRoot() + abs(newSize - self.size)) / newSize / elapsed
    }
    OneEuroFilter.next(
      self.points, mesh.points, size: newSize, speed: speed, elapsed: self.isConfirmed ? elapsed : .infinity,
      into: &self.pointsBefore)
    swap(&self.points, &self.pointsBefore)
    (self.center, self.centerTime, self.size) = (newCenter, time, newSize)
    self.region = next
    self.isConfirmed = self.isConfirmed || self.isLikely
    self.missCount = 0
    self.seenTime = time
    self.confidence = mesh.presence
    self.smile.update(mesh.smile, areEyesClosed: self.eyes.areBothClosed)
    self.eyes.updateRoughly(mesh, elapsed: elapsed)
  }

  /// Updates the eyes with the larger mesh, computed after the smaller one.
  mutating func updateEyes(_ mesh: FaceMesh, at time: MediaTime) {
    self.fineTime = time
    if mesh.presence > 0.5 { self.eyes.update(mesh) }
  }

  /// A copy without points, to be kept while the track changes.
  var withoutPoints: FaceTrack {
    var track = self
    (track.points, track.pointsBefore, track.expected) = ([], [], [])
    return track
  }

  /// Marks the face as hidden by another one.
  mutating func hide() { self.isHidden = true }

  /// Reverts an update in which another face was mistaken for this one: the face is at its expected position, and
  /// hidden.
  ///
  /// - Parameter before: ``withoutPoints`` before the last ``update(_:at:)``.
  mutating func hide(as before: FaceTrack) {
    precondition(before.id == self.id, "the same face")
    let (points, unused, expected) = (self.pointsBefore, self.points, self.expected)
    self = before
    (self.points, self.pointsBefore, self.expected) = (points, unused, expected)
    self.isHidden = true
  }

  /// The face for metadata; moved to its expected position when the mesh saw it in an earlier frame.
  mutating func face(at time: MediaTime) -> Face {
    let shift = self.center(at: time) - self.center
    guard self.points.count >= FaceMesh.minimumPointCount else {
      let center = self.found.center + shift, size = self.found.size
      return Face(
        id: self.id, box: Face.Box(x: center.x - size.x / 2, y: center.y - size.y / 2, width: size.x, height: size.y),
        roll: self.found.roll,
        keyPoints: self.found.keyPoints.mapped { $0 + shift }, confidence: self.confidence)
    }
    let isExpected = shift != SIMD2(0, 0)
    if isExpected {
      let offset = SIMD3(shift, 0)
      self.expected.removeAll(keepingCapacity: true)
      self.expected.append(contentsOf: self.points)
      for index in self.expected.indices { self.expected[index] += offset }
    }
    let mesh = FaceMesh(points: isExpected ? self.expected : self.points, presence: self.confidence)
    let (low, high) = mesh.bounds
    return Face(
      id: self.id, box: Face.Box(x: low.x, y: low.y, width: high.x - low.x, height: high.y - low.y), roll: mesh.roll,
      keyPoints: mesh.keyPoints, mesh: mesh.points, isSmiling: self.smile.isSmiling,
      leftEyeClosed: self.eyes.isLeftClosed,
      rightEyeClosed: self.eyes.isRightClosed, confidence: self.confidence)
  }
}

extension FaceRegion {
  /// Creates the region of a mesh; nil when no real face could have it.
  init?(plausible mesh: FaceMesh) {
    self.init(mesh)
    guard self.side.isFinite, self.side > 4, self.side < 1e5, self.roll.isFinite, abs(self.center.x) < 1e5,
      abs(self.center.y) < 1e5
    else { return nil }
  }
}

extension FaceMesh {
  /// Eyes, nose, mouth and ears.
  var keyPoints: Face.KeyPoints {
    func middle(_ first: Int, _ second: Int) -> SIMD2<Float> {
      let sum = self.points[first] + self.points[second]
      return SIMD2(sum.x, sum.y) / 2
    }
    return Face.KeyPoints(
      rightEye: middle(33, 133), leftEye: middle(263, 362), nose: middle(4, 4), mouth: middle(13, 14),
      rightEar: middle(234, 234), leftEar: middle(454, 454))
  }
}
