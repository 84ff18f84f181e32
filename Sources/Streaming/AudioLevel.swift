/// How loud sound is, in decibels below full scale: 0 is the most that fits, -120 stands for silence.
public struct AudioLevel: Hashable, Sendable {
  /// The highest sample of any channel.
  public var peak: Double
  /// The root of the mean square of all channels; a sine of full scale has -3.01.
  public var rms: Double

  /// A level.
  public init(peak: Double, rms: Double) {
    self.peak = peak
    self.rms = rms
  }

  /// No sound at all.
  public static let silence = AudioLevel(peak: Self.floor, rms: Self.floor)

  /// The least that is told.
  static let floor = -120.0
}
