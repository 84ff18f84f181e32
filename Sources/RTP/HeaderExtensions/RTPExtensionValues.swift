internal import Media

/// The send time of a packet, `abs-send-time`: 24 bits, in 2⁻¹⁸ s, which wrap after 64 s.
public struct RTPAbsoluteSendTime: Hashable, Sendable {
  /// The time in 2⁻¹⁸ s, 24 bits: 0 to 0xFF_FFFF.
  public let rawValue: UInt32

  /// A time from nanoseconds since any zero.
  public init(nanoseconds: Int64) {
    // 2¹⁸ ticks a second: the middle bits of an NTP timestamp.
    let (seconds, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
    let ticks = (seconds << 18) + (rest << 18) / 1_000_000_000
    self.rawValue = UInt32(truncatingIfNeeded: ticks) & 0xFF_FFFF
  }

  /// Parses the data of an element; nil when it has not 3 bytes.
  public init?(parsing data: [UInt8]) {
    guard data.count == 3 else { return nil }
    self.rawValue = data.reduce(0) { $0 << 8 | UInt32($1) }
  }

  /// The data of an element.
  public var data: [UInt8] {
    [16, 8, 0].map { UInt8(truncatingIfNeeded: self.rawValue >> $0) }
  }
}

/// Bounds of the delay from capture to display, `playout-delay`: two numbers of 12 bits, in 10 ms.
///
/// A minimum and maximum of 0 make a receiver show each frame as soon as it can be decoded.
public struct RTPPlayoutDelay: Hashable, Sendable {
  /// Minimum delay in 10 ms, 0 to 4095.
  public let minimum: UInt16
  /// Maximum delay in 10 ms, 0 to 4095.
  public let maximum: UInt16

  /// Bounds in milliseconds, rounded down to 10, at most 40,950.
  public init(milliseconds: ClosedRange<Int>) {
    self.minimum = UInt16(min(max(milliseconds.lowerBound, 0) / 10, 0xFFF))
    self.maximum = UInt16(min(max(milliseconds.upperBound, 0) / 10, 0xFFF))
  }

  /// Parses the data of an element; nil when it has not 3 bytes, or the minimum exceeds the maximum.
  public init?(parsing data: [UInt8]) {
    guard data.count == 3 else { return nil }
    let bits = data.reduce(0) { $0 << 8 | UInt32($1) }
    self.minimum = UInt16(bits >> 12)
    self.maximum = UInt16(bits & 0xFFF)
    guard self.minimum <= self.maximum else { return nil }
  }

  /// The data of an element.
  public var data: [UInt8] {
    let bits = UInt32(self.minimum) << 12 | UInt32(self.maximum)
    return [16, 8, 0].map { UInt8(truncatingIfNeeded: bits >> $0) }
  }
}

/// The number of a packet over all sources of a transport, `transport-wide-cc`.
public struct RTPTransportWideSequenceNumber: Hashable, Sendable {
  /// Increments with each packet, and wraps at 16 bits.
  public let rawValue: UInt16

  /// Creates a number; the one after 65,535 is 0.
  public init(rawValue: UInt16) {
    self.rawValue = rawValue
  }

  /// Parses the data of an element; nil when it has not 2 bytes.
  public init?(parsing data: [UInt8]) {
    guard data.count == 2 else { return nil }
    self.rawValue = UInt16(data[0]) << 8 | UInt16(data[1])
  }

  /// The data of an element.
  public var data: [UInt8] {
    [UInt8(truncatingIfNeeded: self.rawValue >> 8), UInt8(truncatingIfNeeded: self.rawValue)]
  }
}
