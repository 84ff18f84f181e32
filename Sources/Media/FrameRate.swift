/// Pictures a second as a fraction, since 29.97 is 30 000 / 1001.
public struct FrameRate: Hashable, Comparable, Sendable, CustomStringConvertible, ExpressibleByIntegerLiteral {
  /// Pictures in ``denominator`` seconds, at least 1.
  public let numerator: Int32
  /// The seconds that ``numerator`` pictures take, at least 1.
  public let denominator: Int32

  /// `numerator` pictures in `denominator` seconds; both at least 1.
  public init(_ numerator: Int32, over denominator: Int32 = 1) {
    precondition(numerator > 0 && denominator > 0, "a frame rate is a fraction of positive numbers")
    self.numerator = numerator
    self.denominator = denominator
  }

  /// A whole number of pictures a second, at least 1.
  public init(integerLiteral value: Int32) {
    self.init(value)
  }

  /// The time from one picture to the next.
  public var frameInterval: MediaDuration {
    .ticks(Int64(self.denominator), timescale: self.numerator)
  }

  /// Pictures a second, for display and statistics.
  public var framesPerSecond: Double {
    Double(self.numerator) / Double(self.denominator)
  }

  /// The time of picture `index` of an even sequence that starts at `start`, without the drift of added intervals.
  public func time(ofFrame index: Int64, from start: MediaTime) -> MediaTime {
    start + .ticks(index * Int64(self.denominator), timescale: self.numerator)
  }

  /// The supported rate to use for a wanted one: the highest that is not above it, an equal one included; nil when
  /// all are above.
  public static func best(of supported: some Sequence<FrameRate>, notAbove wanted: FrameRate) -> FrameRate? {
    supported.filter { $0 <= wanted }.max()
  }

  /// Whether `lhs` is slower, compared exactly.
  public static func < (lhs: FrameRate, rhs: FrameRate) -> Bool {
    Int64(lhs.numerator) * Int64(rhs.denominator) < Int64(rhs.numerator) * Int64(lhs.denominator)
  }

  /// Whether both are the same rate: 60 / 2 equals 30 / 1.
  public static func == (lhs: FrameRate, rhs: FrameRate) -> Bool {
    Int64(lhs.numerator) * Int64(rhs.denominator) == Int64(rhs.numerator) * Int64(lhs.denominator)
  }

  /// Hashes the rate, not the fraction.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(self.framesPerSecond)
  }

  /// Such as "30" or "29.97".
  public var description: String {
    let hundredths = (Int64(self.numerator) * 200 / Int64(self.denominator) + 1) / 2
    let (whole, rest) = hundredths.quotientAndRemainder(dividingBy: 100)
    if rest == 0 { return "\(whole)" }
    return rest % 10 == 0 ? "\(whole).\(rest / 10)" : "\(whole).\(rest < 10 ? "0" : "")\(rest)"
  }
}

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
