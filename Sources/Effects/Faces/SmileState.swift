/// Whether a mouth smiles, with hysteresis. The measure of a neutral one is 0.45 to 0.7, of a smiling one 0.8 to 1.
///
/// So is that of one that cries. But who cries has mostly closed the eyes, while a smile that closes them has begun before.
struct SmileState: Hashable {
  static let beginning: Float = 0.76
  static let ending: Float = 0.68

  private(set) var isSmiling = false
  private var value: Float?

  /// A mesh was found, whose ``FaceMesh/smile`` this is.
  mutating func update(_ measure: Float, areEyesClosed: Bool = false) {
    // Two pictures weigh about the same: one alone is no smile.
    let value = self.value.map { ($0 + measure) / 2 } ?? measure
    self.value = value
    self.isSmiling = self.isSmiling ? value > Self.ending : value > Self.beginning && !areEyesClosed
  }
}
