/// A camera, screen, window or microphone of this machine.
public struct CaptureDevice: Hashable, Sendable {
  /// What a device is.
  public enum Kind: String, Hashable, Sendable, CaseIterable {
    /// It takes pictures.
    case camera
    /// A whole screen.
    case screen
    /// A window on a screen.
    case window
    /// It takes sound.
    case microphone
  }

  /// What it is.
  public let kind: Kind
  /// What a ``SourceSpecification`` is made from to use it: "v4l2:/dev/video0".
  public let specification: String
  /// For people.
  public let name: String
  /// A name that stays when it is unplugged and plugged in again, also elsewhere where the device has a serial number.
  public let stableName: String
  /// What it delivers; empty when ``problem`` is set.
  public let formats: [CaptureDeviceFormat]
  /// What can be set.
  public let controls: [DeviceControl]
  /// Why it cannot be used now, and the command that mends it where there is one; nil when it can.
  public let problem: String?
  /// Where a camera looks.
  public let position: CameraPosition

  /// A device.
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
