/// Detects closed eyes from the eye openings (height / width), with hysteresis.
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

/// Detects smiles from ``FaceMesh/smile``, with hysteresis. The measure of a neutral one is 0.45 to 0.7, of a smiling one 0.8 to 1.
///
/// So is that of one that cries. But who cries has mostly closed the eyes, while a smile that closes them has begun before.
struct SmileState: Hashable {
  static let beginning: Float = 0.76
  static let ending: Float = 0.68

  private(set) var isSmiling = false
  private var value: Float?

  /// A mesh was found, whose ``FaceMesh/smile`` this is.
  mutating func update(_ measure: Float, areEyesClosed: Bool = false) {
    // Two frames weigh about the same: one alone is no smile.
    let value = self.value.map { ($0 + measure) / 2 } ?? measure
    self.value = value
    self.isSmiling = self.isSmiling ? value > Self.ending : value > Self.beginning && !areEyesClosed
  }
}
