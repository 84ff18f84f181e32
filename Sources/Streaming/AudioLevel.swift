/// Level of audio in decibels below full scale: 0 is full scale, -120 stands for silence.
public struct AudioLevel: Hashable, Sendable {
  /// The highest sample of any channel.
  public var peak: Double
  /// The root of the mean square of all channels; a sine of full scale has -3.01.
  public var rms: Double

  /// Creates a level; both values are at most 0.
  public init(peak: Double, rms: Double) {
    self.peak = peak
    self.rms = rms
  }

  /// Level of silence: -120 dB.
  public static let silence = AudioLevel(peak: Self.floor, rms: Self.floor)

  /// Lowest level reported, in decibels.
  static let floor = -120.0
}
