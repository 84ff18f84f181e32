extension IPAddress: CustomStringConvertible {
  /// The canonical text of RFC 5952 §4: lower case, without leading zeros, the longest run of zero groups as `::`.
  package var description: String {
    switch self {
    case .v4(let address):
      return [24, 16, 8, 0].map { "\(address >> UInt32($0) & 0xff)" }.joined(separator: ".")
    case .v6(let upper, let lower):
      let groups = [upper, lower].flatMap { half in
        [48, 32, 16, 0].map { UInt16(truncatingIfNeeded: half >> UInt64($0)) }
      }
      guard let zeros = Self.compressedRun(of: groups) else { return Self.text(groups[...]) }
      return Self.text(groups[..<zeros.lowerBound]) + "::" + Self.text(groups[zeros.upperBound...])
    }
  }

  /// The first of the longest runs of at least two zero groups, RFC 5952 §4.2; nil without one.
  private static func compressedRun(of groups: [UInt16]) -> Range<Int>? {
    var run = 0..<1
    var start = 0
    for (index, group) in groups.enumerated() {
      if group != 0 { start = index + 1 }
      if index + 1 - start > run.count { run = start..<index + 1 }
    }
    return run.count > 1 ? run : nil
  }

  private static func text(_ groups: ArraySlice<UInt16>) -> String {
    groups.map { String($0, radix: 16) }.joined(separator: ":")
  }
}
