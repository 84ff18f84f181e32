/// Whether eyes are closed, with hysteresis.
struct EyeState: Hashable {
  /// Below this an eye is closed; open ones have 0.24 to 0.35, closed ones 0.01 to 0.07.
  static let closing: Float = 0.15
  /// Above this a closed eye is open again.
  static let opening: Float = 0.18

  private(set) var isLeftClosed = false
  private(set) var isRightClosed = false
  /// Whether the mesh of few points, which is weak at eyes, says that they are much less open than lately.
  private(set) var isSuspicious = false
  private var usual: Float?
  /// Seconds for which both have been closed.
  private var closedTime: Float = 0

  var areBothClosed: Bool { self.isLeftClosed && self.isRightClosed }

  /// The mesh of many points was found.
  mutating func update(_ mesh: FaceMesh) {
    self.isLeftClosed = mesh.leftEyeOpening < (self.isLeftClosed ? Self.opening : Self.closing)
    self.isRightClosed = mesh.rightEyeOpening < (self.isRightClosed ? Self.opening : Self.closing)
  }

  /// The mesh of few points was found.
  ///
  /// - Parameter elapsed: Seconds since the one before.
  mutating func updateRoughly(_ mesh: FaceMesh, elapsed: Float) {
    let opening = min(mesh.leftEyeOpening, mesh.rightEyeOpening)
    guard let usual = self.usual else {
      self.usual = opening
      self.isSuspicious = true
      return
    }
    self.closedTime = self.areBothClosed ? self.closedTime + max(0, elapsed) : 0
    // What may be a blink is looked at until it is over, or none.
    self.isSuspicious = opening < 0.85 * usual || self.areBothClosed && self.closedTime < 0.5
    // What is usual changes within half a second.
    self.usual = usual + (opening - usual) * max(0, min(1, 2 * elapsed))
  }
}
