/// Counts the pictures that a camera has lost, by the numbers it gives them.
struct CameraSequence {
  /// More than these at once are no loss, but another count: a driver that began anew, or does not count.
  static let most: UInt32 = 120

  private var last: UInt32?

  /// The pictures that are missing between the one before and this one.
  mutating func missing(before number: UInt32) -> Int {
    defer { self.last = number }
    guard let last else { return 0 }
    let missing = number &- last &- 1
    return missing <= Self.most ? Int(missing) : 0
  }
}
