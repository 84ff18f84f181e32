/// Choice of the rendition that a player starts with, from what its network carried last.
package enum InitialRendition {
  /// Share of a link's capacity that media may use; the rest is for its variation.
  private static let usableShare = 0.9

  /// The index of the rendition to start with.
  ///
  /// - Parameters:
  ///   - bitrates: Bits per second of each rendition, in descending order; at least one.
  ///   - capacity: Bits per second that the link carries; nil when nothing is known.
  /// - Returns: The first one when nothing is known, else the first whose bitrate the capacity holds, or the last.
  package static func index(bitrates: [Int], capacity: Int?) -> Int {
    guard let capacity else { return 0 }
    let fitting = bitrates.firstIndex { Double($0) <= Double(capacity) * Self.usableShare }
    return fitting ?? bitrates.count - 1
  }
}
