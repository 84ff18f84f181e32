/// Frames per second as an exact fraction: 29.97 is 30,000 / 1001.
public struct FrameRate: Hashable, Comparable, Sendable, CustomStringConvertible, ExpressibleByIntegerLiteral {
  /// Number of frames in ``denominator`` seconds, at least 1.
  public let numerator: Int32
  /// Number of seconds that ``numerator`` frames last, at least 1.
  public let denominator: Int32

  /// Creates a rate of `numerator` frames in `denominator` seconds; traps unless both are at least 1.
  public init(_ numerator: Int32, over denominator: Int32 = 1) {
    precondition(numerator > 0 && denominator > 0, "a frame rate is a fraction of positive numbers")
    self.numerator = numerator
    self.denominator = denominator
  }

  /// Creates a whole number of frames per second; traps unless it is at least 1.
  public init(integerLiteral value: Int32) {
    self.init(value)
  }

  /// Time from one frame to the next, rounded down to a nanosecond.
  public var frameInterval: MediaDuration {
    .ticks(Int64(self.denominator), timescale: self.numerator)
  }

  /// Half of this rate, as of frames of two fields each; this rate where half of it has no fraction of 32 bits.
  package var halved: FrameRate {
    let (doubled, isOverflow) = self.denominator.multipliedReportingOverflow(by: 2)
    if self.numerator.isMultiple(of: 2) { return FrameRate(self.numerator / 2, over: self.denominator) }
    return isOverflow ? self : FrameRate(self.numerator, over: doubled)
  }

  /// Frames per second, for display and statistics.
  public var framesPerSecond: Double {
    Double(self.numerator) / Double(self.denominator)
  }

  /// Time of frame `index` in an even sequence that starts at `start`, without the drift of accumulated intervals.
  public func time(ofFrame index: Int64, from start: MediaTime) -> MediaTime {
    start + .ticks(index * Int64(self.denominator), timescale: self.numerator)
  }

  /// The highest supported rate that is at most the requested one; nil when all are above it.
  public static func best(of supported: some Sequence<FrameRate>, notAbove requested: FrameRate) -> FrameRate? {
    supported.filter { $0 <= requested }.max()
  }

  /// Whether `lhs` is the lower rate, compared exactly.
  public static func < (lhs: FrameRate, rhs: FrameRate) -> Bool {
    Int64(lhs.numerator) * Int64(rhs.denominator) < Int64(rhs.numerator) * Int64(lhs.denominator)
  }

  /// Whether both are the same rate: 60 / 2 is equal to 30 / 1.
  public static func == (lhs: FrameRate, rhs: FrameRate) -> Bool {
    Int64(lhs.numerator) * Int64(rhs.denominator) == Int64(rhs.numerator) * Int64(lhs.denominator)
  }

  /// Hashes the rate, so that equal fractions have equal hashes.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(self.framesPerSecond)
  }

  /// Frames per second with at most two decimals, such as "30" or "29.97".
  public var description: String {
    let hundredths = (Int64(self.numerator) * 200 / Int64(self.denominator) + 1) / 2
    let (whole, rest) = hundredths.quotientAndRemainder(dividingBy: 100)
    if rest == 0 { return "\(whole)" }
    return rest % 10 == 0 ? "\(whole).\(rest / 10)" : "\(whole).\(rest < 10 ? "0" : "")\(rest)"
  }
}

extension FrameRate {
  /// Parses `30`, `30000/1001`, or a decimal number with up to three decimals, `12.5`.
  ///
  /// The decimals 23.976, 29.97 and 59.94 become fractions over 1001, the rates of broadcast devices.
  ///
  /// - Parameter range: Allowed rates in frames per second.
  /// - Returns: nil for other text and for rates out of range.
  package init?(parsing text: some StringProtocol, in range: ClosedRange<Double>) {
    let text = Substring(text)
    guard let rate = Self.fraction(text) ?? Self.decimal(text), range.contains(rate.framesPerSecond) else { return nil }
    self = rate
  }

  private static func fraction(_ text: Substring) -> FrameRate? {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, let frames = Self.number(parts[0]), let seconds = Self.number(parts[1]), frames > 0,
      seconds > 0
    else { return nil }
    return FrameRate(frames, over: seconds)
  }

  private static func decimal(_ text: Substring) -> FrameRate? {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count <= 2, let whole = Self.number(parts[0]), whole <= 100_000 else { return nil }
    guard parts.count == 2 else { return whole > 0 ? FrameRate(whole) : nil }
    guard parts[1].utf8.count <= 3, let digits = Self.number(parts[1]) else { return nil }
    let thousandths = whole * 1000 + [100, 10, 1][parts[1].utf8.count - 1] * digits
    // Two decimals are rounded by at most five thousandths.
    let nominal = (Int64(thousandths) * 1001 + 500_000) / 1_000_000
    let isOver1001 = abs(Int64(thousandths) * 1001 - nominal * 1_000_000) < 5 * 1001
    if isOver1001, nominal >= 10, !thousandths.isMultiple(of: 1000) {
      return FrameRate(Int32(nominal) * 1000, over: 1001)
    }
    return thousandths > 0 ? FrameRate(thousandths, over: 1000) : nil
  }

  /// Value of one to seven decimal digits.
  private static func number(_ text: Substring) -> Int32? {
    guard text.utf8.count <= 7, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return Int32(text)
  }
}
