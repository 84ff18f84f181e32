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
