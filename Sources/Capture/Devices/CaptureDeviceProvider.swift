public import Media

/// Lists and opens cameras, screens and microphones, so that code that chooses sources does not link the systems' libraries
/// for devices.
///
/// `SystemDevices` provides those of this machine.
public protocol CaptureDeviceProvider: Sendable {
  /// Lists the connected devices, also those that cannot be used now; may block for 2 s per device that does not respond.
  func devices() -> [CaptureDevice]

  /// Whether a microphone is connected and can be used; may block for 1 s per microphone that does not respond.
  func hasMicrophone() -> Bool

  /// The names of the cameras that a specification may select, each of one camera only: nodes, ports of the bus, links that
  /// the system makes. A camera keeps one of them when it is plugged in again. Opens cameras, which may block.
  func uniqueNames(of camera: CameraSpecification) -> Set<String>

  /// Creates a capturer of a camera, which is opened by its start.
  ///
  /// - Parameters:
  ///   - camera: The camera and the user's options, which take precedence.
  ///   - width: Requested width in pixels; the nearest size that the camera offers is chosen.
  ///   - height: Requested height in pixels.
  ///   - frameRate: Requested frame rate in frames per second.
  func capturer(
    of camera: CameraSpecification, width: Int, height: Int, frameRate: FrameRate
  ) -> any VideoCapturer

  /// Creates a capturer of a screen or window, which is looked up by its start; the frame rate is the maximum.
  func capturer(of screen: ScreenSpecification, frameRate: FrameRate) -> any VideoCapturer

  /// Creates a capturer of a microphone, which is opened by its start.
  func capturer(of microphone: MicrophoneSpecification) -> any AudioCapturer
}
