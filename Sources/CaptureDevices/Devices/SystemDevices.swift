public import Capture
public import Media

/// The cameras, screens and microphones of this machine, for catalogs of sources.
public struct SystemDevices: CaptureDeviceProvider {
  /// Creates a provider; devices are listed and opened by its functions only.
  public init() {}

  /// Lists the connected devices, as ``CaptureDevices/list()``.
  public func devices() -> [CaptureDevice] { CaptureDevices.list() }

  /// Whether a microphone is connected and can be used; may block for 1 s per microphone that does not respond.
  public func hasMicrophone() -> Bool { MicrophoneDevices.devices().contains { $0.problem == nil } }

  /// The names of the cameras that a specification may select: nodes, ports of the bus and names in `/dev/v4l/by-id`. Opens
  /// all nodes, which may block.
  public func uniqueNames(of camera: CameraSpecification) -> Set<String> { camera.uniqueNames }

  /// Creates a ``CameraCapturer``, which opens the camera when it is started; sizes are in pixels.
  public func capturer(
    of camera: CameraSpecification, width: Int, height: Int, frameRate: FrameRate
  ) -> any VideoCapturer {
    CameraCapturer(camera, width: width, height: height, frameRate: frameRate)
  }

  /// Creates a ``ScreenCapturer``, which looks the screen up when it is started.
  public func capturer(of screen: ScreenSpecification, frameRate: FrameRate) -> any VideoCapturer {
    ScreenCapturer(screen, frameRate: frameRate)
  }

  /// Creates a ``MicrophoneCapturer``, which opens the microphone when it is started.
  public func capturer(of microphone: MicrophoneSpecification) -> any AudioCapturer { MicrophoneCapturer(microphone) }
}
