/// Detects closed eyes from the eye openings (height / width), with hysteresis.
struct EyeState: Hashable {
  /// Opening below which an eye is closed; open eyes have 0.24 to 0.35, closed ones 0.01 to 0.07.
  static let closing: Float = 0.15
  /// Opening above which a closed eye is open again.
  static let opening: Float = 0.18

  private(set) var isLeftClosed = false
  private(set) var isRightClosed = false
  /// Whether the smaller mesh, which is imprecise at the eyes, shows them much less open than before.
  private(set) var isSuspicious = false
  private var usual: Float?
  /// Seconds for which both eyes have been closed.
  private var closedTime: Float = 0

  var areBothClosed: Bool { self.isLeftClosed && self.isRightClosed }

  /// Updates the state with the larger mesh.
  mutating func update(_ mesh: FaceMesh) {
    self.isLeftClosed = mesh.leftEyeOpening < (self.isLeftClosed ? Self.opening : Self.closing)
    self.isRightClosed = mesh.rightEyeOpening < (self.isRightClosed ? Self.opening : Self.closing)
  }

  /// Updates ``isSuspicious`` with the smaller mesh.
  ///
  /// - Parameter elapsed: Seconds since the previous mesh.
  mutating func updateRoughly(_ mesh: FaceMesh, elapsed: Float) {
    let opening = min(mesh.leftEyeOpening, mesh.rightEyeOpening)
    guard let usual = self.usual else {
      self.usual = opening
      self.isSuspicious = true
      return
    }
    self.closedTime = self.areBothClosed ? self.closedTime + max(0, elapsed) : 0
    // Requests larger meshes until a possible blink ends or is ruled out.
    self.isSuspicious = opening < 0.85 * usual || self.areBothClosed && self.closedTime < 0.5
    // Moving average over half a second.
    self.usual = usual + (opening - usual) * max(0, min(1, 2 * elapsed))
  }
}

/// Detects smiles from ``FaceMesh/smile``, with hysteresis. Neutral faces have 0.45 to 0.7, smiling ones 0.8 to 1.
///
/// So do crying faces, but their eyes are mostly closed, while a smile with closed eyes begins before they close.
struct SmileState: Hashable {
  static let beginning: Float = 0.76
  static let ending: Float = 0.68

  private(set) var isSmiling = false
  private var value: Float?

  /// Updates the state with a mesh's ``FaceMesh/smile``.
  mutating func update(_ measure: Float, areEyesClosed: Bool = false) {
    // Two frames have about the same weight: a single frame is not a smile.
    let value = self.value.map { ($0 + measure) / 2 } ?? measure
    self.value = value
    self.isSmiling = self.isSmiling ? value > Self.ending : value > Self.beginning && !areEyesClosed
  }
}
