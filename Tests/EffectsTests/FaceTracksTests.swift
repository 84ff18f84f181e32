import Media
import Testing

@testable import Effects

@Suite("Face identities")
struct FaceTracksTests {
  /// A frontal face as the detector reports it.
  static func candidate(_ x: Float, _ y: Float, side: Float = 100) -> FaceCandidate {
    let center = SIMD2(x, y)
    let offsets: [SIMD2<Float>] = [[-0.2, -0.2], [0.2, -0.2], [0, 0], [0, 0.25], [-0.45, 0], [0.45, 0]]
    let points = offsets.map { center + $0 * side }
    return FaceCandidate(
      center: center, size: SIMD2(side, side),
      keyPoints: Face.KeyPoints(
        rightEye: points[0], leftEye: points[1], nose: points[2], mouth: points[3], rightEar: points[4],
        leftEar: points[5]),
      score: 0.9)
  }

  /// A mesh of that face: a square of points with the given eye opening and smile.
  static func mesh(
    _ x: Float, _ y: Float, side: Float = 100, eyes: Float = 0.3, smile: Float = 0.5, presence: Float = 1
  ) -> FaceMesh {
    var points = [SIMD3<Float>](repeating: SIMD3(x, y, 0), count: 478)
    func put(_ index: Int, _ across: Float, _ down: Float) {
      points[index] = SIMD3(x + across * side, y + down * side, 0)
    }
    put(10, -0.5, -0.5)
    put(152, 0.5, 0.5)
    // Each eye is a fifth of the face's width.
    for (sign, outer, inner, upper, lower) in [
      (Float(-1), 33, 133, [160, 158], [144, 153]), (1, 263, 362, [387, 385], [373, 380]),
    ] {
      put(outer, sign * 0.3, -0.2)
      put(inner, sign * 0.1, -0.2)
      for index in upper { put(index, sign * 0.2, -0.2 - 0.1 * eyes) }
      for index in lower { put(index, sign * 0.2, -0.2 + 0.1 * eyes) }
    }
    put(61, -0.3 * smile, 0.25)
    put(291, 0.3 * smile, 0.25)
    for index in [13, 14] { put(index, 0, 0.25) }
    return FaceMesh(points: points, presence: presence)
  }

  /// Frames at 30 per second, with faces at positions that depend on the frame.
  struct Scene {
    var tracks = FaceTracks()
    var index: Int64 = 0
    var events: [FaceEvent] = []

    var time: MediaTime { MediaTime(ticks: self.index, timescale: 30) }

    /// Tracks one frame; the mesh model finds the nearest visible face within a face's size.
    mutating func show(
      _ faces: [SIMD2<Float>], isDetected: Bool = false, units: Int = 4, eyes: Float = 0.3, smile: Float = 0.5
    ) -> [Face] {
      if isDetected { self.tracks.see(faces.map { FaceTracksTests.candidate($0.x, $0.y) }, at: self.time) }
      for (index, isFine) in self.tracks.plan(units: units, at: self.time) {
        let region = self.tracks.region(of: index, at: self.time)
        func distance(_ face: SIMD2<Float>) -> Float {
          let offset = face - region.center
          return (offset * offset).sum().squareRoot()
        }
        let nearest = faces.min { distance($0) < distance($1) }
        let mesh =
          if let nearest, distance(nearest) < 75 {
            FaceTracksTests.mesh(nearest.x, nearest.y, eyes: eyes, smile: smile)
          } else {
            FaceTracksTests.mesh(region.center.x, region.center.y, presence: 0)
          }
        self.tracks.update(index, mesh, at: self.time)
        let track = self.tracks.tracks[index]
        if track.missCount == 0, track.isVisible, isFine || track.needsFineMesh {
          self.tracks.updateEyes(index, mesh, at: self.time)
        }
      }
      let (faces, _, events) = self.tracks.finish(at: self.time)
      self.events += events
      self.index += 1
      return faces
    }
  }

  @Test func `a face that a mesh confirms is reported, an unconfirmed one never`() {
    var scene = Scene()
    #expect(scene.show([SIMD2(200, 200)], isDetected: true).map(\.id) == [1])
    #expect(scene.events.map(\.kind) == [.entered])
    var wrong = FaceTracks()
    wrong.see([Self.candidate(200, 200)], at: .zero)
    for index in 0..<3 {
      let time = MediaTime(ticks: Int64(index), timescale: 30)
      for (index, _) in wrong.plan(units: 4, at: time) { wrong.update(index, Self.mesh(0, 0, presence: 0.2), at: time) }
      #expect(wrong.finish(at: time).faces == [])
    }
    #expect(wrong.tracks.isEmpty)
  }

  @Test func `a moving face keeps its identifier, and its box follows`() {
    var scene = Scene()
    for index in 0..<90 {
      let place = SIMD2(100 + Float(index) * 8, 200)
      let faces = scene.show([place], isDetected: index % 8 == 0)
      #expect(faces.map(\.id) == [1])
      // Within 8% of its size.
      #expect(faces.allSatisfy { abs($0.box.center.x - place.x) < 8 && abs($0.box.width - 100) < 4 })
    }
    #expect(scene.events.map(\.kind) == [.entered])
  }

  @Test func `a face out of sight for a moment keeps its identifier, for longer it has left`() {
    var scene = Scene()
    _ = scene.show([SIMD2(200, 200)], isDetected: true)
    for index in 0..<30 { #expect(scene.show([]).isEmpty == (index >= 9)) }
    #expect(scene.show([SIMD2(220, 200)], isDetected: true).map(\.id) == [1])
    #expect(scene.events.map(\.kind) == [.entered])
    for _ in 0..<60 { _ = scene.show([]) }
    #expect(scene.events.map(\.kind) == [.entered, .left])
    #expect(scene.show([SIMD2(220, 200)], isDetected: true).map(\.id) == [2])
  }

  @Test func `faces that cross keep their identifiers`() {
    var scene = Scene()
    var last: [Int: Float] = [:]
    for index in 0..<100 {
      let step = Float(index) * 6
      var places = [SIMD2(100 + step, 200), SIMD2(700 - step, 215)]
      // The face behind is not visible while they overlap.
      let isHidden = abs(places[0].x - places[1].x) < 60
      if isHidden { places.removeLast() }
      for face in scene.show(places, isDetected: index % 4 == 0) { last[face.id] = face.box.center.x }
    }
    #expect(scene.events.filter { $0.kind != .smile }.map(\.kind) == [.entered, .entered])
    #expect(last.count == 2)
    #expect(abs((last[1] ?? 0) - 694) < 15 && abs((last[2] ?? 0) - 106) < 15)
  }

  @Test func `eight faces take turns, and none is lost`() {
    var scene = Scene()
    let places = (0..<8).map { (index: Int) -> SIMD2<Float> in
      SIMD2<Float>(Float(100 + index % 4 * 200), Float(150 + index / 4 * 300))
    }
    for index in 0..<120 {
      let moved = places.map { (place: SIMD2<Float>) -> SIMD2<Float> in place + SIMD2<Float>(Float(index), 0) }
      let faces = scene.show(moved, isDetected: index % 8 == 0)
      #expect(faces.count == (index == 0 ? 4 : 8))
      if index > 10 {
        for (face, place) in zip(faces.sorted { $0.id < $1.id }, moved) {
          #expect(abs(face.box.center.x - place.x) < 8)
        }
      }
    }
    #expect(scene.tracks.tracks.allSatisfy { $0.fineTime != nil })
  }

  @Test(arguments: [1, 2, 3, 4]) func `no more work is planned than the budget allows`(units: Int) {
    var tracks = FaceTracks()
    tracks.see((0..<6).map { Self.candidate(Float($0) * 200, 100) }, at: .zero)
    let plan = tracks.plan(units: units, at: .zero)
    let cost = plan.reduce(0) { $0 + ($1.isFine ? 4 : 1) }
    #expect(!plan.isEmpty && cost <= max(units, 4))
    #expect(tracks.plan(units: 0, at: .zero).count == 1)
    var none = FaceTracks()
    #expect(none.plan(units: 4, at: .zero).isEmpty)
  }

  @Test func `faces beyond the maximum are ignored`() {
    var tracks = FaceTracks()
    tracks.see((0..<500).map { Self.candidate(Float($0) * 200, 100) }, at: .zero)
    #expect(tracks.tracks.count == FaceTracks.limit)
  }

  @Test func `a second box on a known face is not a second face`() {
    var scene = Scene()
    _ = scene.show([SIMD2(200, 200)], isDetected: true)
    scene.tracks.see([Self.candidate(205, 200), Self.candidate(210, 210, side: 130)], at: scene.time)
    #expect(scene.show([SIMD2(200, 200)]).map(\.id) == [1])
    #expect(scene.tracks.tracks.count == 1)
  }

  @Test func `a short closing of both eyes is a blink when they open, a long one is not`() {
    var scene = Scene()
    func show(_ eyes: Float, _ count: Int) -> [FaceEvent.Kind] {
      let before = scene.events.count
      for _ in 0..<count { _ = scene.show([SIMD2(200, 200)], isDetected: scene.index == 0, eyes: eyes) }
      return scene.events.dropFirst(before).map(\.kind)
    }
    #expect(show(0.3, 20) == [.entered])
    #expect(show(0.05, 1) == [])
    #expect(show(0.3, 5) == [.blink])
    #expect(show(0.05, 30) == [])
    #expect(show(0.3, 10) == [])
  }

  @Test func `an eye between both thresholds keeps its state`() {
    var eyes = EyeState()
    eyes.update(Self.mesh(0, 0, eyes: 0.16))
    #expect(!eyes.isLeftClosed && !eyes.isRightClosed)
    eyes.update(Self.mesh(0, 0, eyes: 0.14))
    #expect(eyes.areBothClosed)
    eyes.update(Self.mesh(0, 0, eyes: 0.17))
    #expect(eyes.areBothClosed)
    eyes.update(Self.mesh(0, 0, eyes: 0.19))
    #expect(!eyes.isLeftClosed && !eyes.isRightClosed)
  }

  @Test func `a smile is reported once, and not for a single frame`() {
    var smile = SmileState()
    for value: Float in [0.55, 0.9, 0.55] {
      smile.update(value)
      #expect(!smile.isSmiling)
    }
    for _ in 0..<3 { smile.update(0.85) }
    #expect(smile.isSmiling)
    smile.update(0.72)
    #expect(smile.isSmiling)
    for _ in 0..<3 { smile.update(0.55) }
    #expect(!smile.isSmiling)
  }

  @Test func `jitter is smoothed, movement is not`() {
    let still = (0..<468).map { SIMD3<Float>(Float($0), 0, 0) }
    let trembling = still.map { $0 + SIMD3(0.3, 0, 0) }
    func next(_ old: [SIMD3<Float>], _ new: [SIMD3<Float>], speed: Float, elapsed: Float) -> [SIMD3<Float>] {
      var result = still
      OneEuroFilter.next(old, new, size: 100, speed: speed, elapsed: elapsed, into: &result)
      return result
    }
    let held = next(still, trembling, speed: 0.05, elapsed: 1 / 30)
    #expect(held[9].x - still[9].x < 0.25)
    let moved = still.map { $0 + SIMD3(10, 0, 0) }
    let followed = next(still, moved, speed: 3, elapsed: 1 / 30)
    #expect(abs(followed[9].x - moved[9].x) < 0.1)
    #expect(next([], moved, speed: 0, elapsed: 1) == moved)
    #expect(next(still, moved, speed: 0, elapsed: 9) == moved)
  }

  @Test(arguments: Orientation.allCases)
  func `a candidate of a rotated square is mapped back to its position`(orientation: Orientation) {

    // The position of the point (0.2, 0.1) after the square is rotated clockwise.
    let turned: SIMD2<Float> =
      switch orientation {
      case .up: [0.2, 0.1]
      case .right: [0.9, 0.2]
      case .down: [0.8, 0.9]
      case .left: [0.1, 0.8]
      }
    var candidate = Self.candidate(turned.x, turned.y, side: 0.1)
    candidate.keyPoints = FaceCandidateTests.keyPoints(turned)
    let back = candidate.turnedBack(orientation)
    for point in [back.keyPoints.leftEye, back.keyPoints.mouth, back.center] {
      #expect(abs(point.x - 0.2) < 1e-6 && abs(point.y - 0.1) < 1e-6)
    }
  }
}
