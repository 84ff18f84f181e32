public import Media

/// One form in which a device delivers pictures or sound.
public struct CaptureDeviceFormat: Hashable, Sendable {
  /// The rates that a device offers for a format.
  public enum FrameRates: Hashable, Sendable {
    /// These alone; empty when the device does not tell.
    case discrete([FrameRate])
    /// Every rate from one to another, or many between them.
    case range(ClosedRange<FrameRate>)
  }

  /// The FourCC of pictures ("YUYV", "MJPG"), the PCM name of sound ("S16_LE").
  public let name: String
  /// Pixels across; nil for sound, and where any size can be had.
  public let width: Int?
  /// Pixels down; nil as ``width``.
  public let height: Int?
  /// Pictures a second.
  public let frameRates: FrameRates
  /// Samples a second of each channel; nil for pictures.
  public let sampleRate: Int?
  /// Channels; nil for pictures.
  public let channels: Int?

  /// A form of pictures.
  public init(name: String, width: Int?, height: Int?, frameRates: FrameRates) {
    self.name = name
    self.width = width
    self.height = height
    self.frameRates = frameRates
    self.sampleRate = nil
    self.channels = nil
  }

  /// A form of sound.
  public init(name: String, sampleRate: Int, channels: Int) {
    self.name = name
    self.width = nil
    self.height = nil
    self.frameRates = .discrete([])
    self.sampleRate = sampleRate
    self.channels = channels
  }
}
