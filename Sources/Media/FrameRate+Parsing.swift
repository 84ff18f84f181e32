extension FrameRate {
  /// Reads a rate as people write it: `30`, `30000/1001`, or with up to three decimals, `12.5`. Of the latter 23.976, 29.97
  /// and 59.94 stand for fractions over 1001, which is what devices of these rates have.
  ///
  /// - Parameter range: What it may be, in pictures a second.
  /// - Returns: Nil for anything else, and for a rate out of the range.
  package init?(parsing text: some StringProtocol, in range: ClosedRange<Double>) {
    let text = Substring(text)
    guard let rate = Self.fraction(text) ?? Self.decimal(text), range.contains(rate.framesPerSecond) else { return nil }
    self = rate
  }

  private static func fraction(_ text: Substring) -> FrameRate? {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, let pictures = Self.number(parts[0]), let seconds = Self.number(parts[1]), pictures > 0,
      seconds > 0
    else { return nil }
    return FrameRate(pictures, over: seconds)
  }

  private static func decimal(_ text: Substring) -> FrameRate? {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count <= 2, let whole = Self.number(parts[0]), whole <= 100_000 else { return nil }
    guard parts.count == 2 else { return whole > 0 ? FrameRate(whole) : nil }
    guard parts[1].utf8.count <= 3, let digits = Self.number(parts[1]) else { return nil }
    let thousandths = whole * 1000 + [100, 10, 1][parts[1].utf8.count - 1] * digits
    // Two decimals are exact to five thousandths.
    let nominal = (Int64(thousandths) * 1001 + 500_000) / 1_000_000
    let isOver1001 = abs(Int64(thousandths) * 1001 - nominal * 1_000_000) < 5 * 1001
    if isOver1001, nominal >= 10, !thousandths.isMultiple(of: 1000) {
      return FrameRate(Int32(nominal) * 1000, over: 1001)
    }
    return thousandths > 0 ? FrameRate(thousandths, over: 1000) : nil
  }

  /// The value of one to seven digits.
  private static func number(_ text: Substring) -> Int32? {
    guard text.utf8.count <= 7, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return Int32(text)
  }
}
