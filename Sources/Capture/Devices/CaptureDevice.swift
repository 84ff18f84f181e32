public import Media

/// A camera, screen, window or microphone of this machine, as listed by `CaptureDevices.list()`.
public struct CaptureDevice: Hashable, Sendable {
  /// Kinds of devices, each with a prefix of its source specifications.
  public enum Kind: String, Hashable, Sendable, CaseIterable {
    /// A camera.
    case camera
    /// A whole screen, or one of several monitors.
    case screen
    /// A window on a screen.
    case window
    /// An audio input.
    case microphone
  }

  /// Kind of the device: camera, screen, window or microphone.
  public let kind: Kind
  /// The source specification that selects the device, such as "v4l2:/dev/video0".
  public let specification: String
  /// Human-readable name, as the driver or the window reports it.
  public let name: String
  /// A name that survives unplugging and plugging in again; with a serial number also at another port.
  public let stableName: String
  /// Formats that the device offers; empty when ``problem`` is set.
  public let formats: [CaptureDeviceFormat]
  /// Controls that the device offers, with their current values.
  public let controls: [DeviceControl]
  /// Reason why the device cannot be used now, and how to solve that, in one line; nil for a usable device.
  public let problem: String?
  /// Direction a camera faces; ``CameraPosition/unspecified`` for other devices.
  public let position: CameraPosition

  /// Creates a description of a device; by default a usable one without formats and controls.
  public init(
    kind: Kind, specification: String, name: String, stableName: String, formats: [CaptureDeviceFormat] = [],
    controls: [DeviceControl] = [], problem: String? = nil, position: CameraPosition = .unspecified
  ) {
    self.kind = kind
    self.specification = specification
    self.name = name
    self.stableName = stableName
    self.formats = formats
    self.controls = controls
    self.problem = problem
    self.position = position
  }
}

/// One format in which a device delivers video or audio.
public struct CaptureDeviceFormat: Hashable, Sendable {
  /// Frame rates that a device offers for a format, in frames per second.
  public enum FrameRates: Hashable, Sendable {
    /// Single rates; empty when the device does not report any.
    case discrete([FrameRate])
    /// All rates, or many, between a minimum and a maximum.
    case range(ClosedRange<FrameRate>)
  }

  /// The FourCC of video ("YUYV", "MJPG"), the ALSA sample format of audio ("S16_LE").
  public let name: String
  /// Width in pixels; nil for audio, and for video of any size.
  public let width: Int?
  /// Height in pixels; nil for audio, and for video of any size.
  public let height: Int?
  /// Frame rates that the device offers in this format; ``FrameRates/discrete(_:)`` without rates for audio.
  public let frameRates: FrameRates
  /// Samples per second of each channel; nil for video.
  public let sampleRate: Int?
  /// Number of channels; nil for video.
  public let channels: Int?

  /// Creates a video format; sizes are in pixels.
  public init(name: String, width: Int?, height: Int?, frameRates: FrameRates) {
    self.name = name
    self.width = width
    self.height = height
    self.frameRates = frameRates
    self.sampleRate = nil
    self.channels = nil
  }

  /// Creates an audio format; the sample rate is in Hz.
  public init(name: String, sampleRate: Int, channels: Int) {
    self.name = name
    self.width = nil
    self.height = nil
    self.frameRates = .discrete([])
    self.sampleRate = sampleRate
    self.channels = channels
  }
}

/// The direction in which a camera faces, as reported by its driver.
public enum CameraPosition: String, Hashable, Sendable, CaseIterable {
  /// Toward the user; previews mirror its frames.
  case front
  /// Away from the user.
  case back
  /// Not built into the machine.
  case external
  /// Not reported by the driver.
  case unspecified
}
