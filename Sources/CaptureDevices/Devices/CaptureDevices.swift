public import Capture

/// The cameras, screens and microphones of this machine.
public enum CaptureDevices {
  /// What there is now, cameras first; devices that cannot be used are among them, with the reason.
  ///
  /// Each is opened for a moment, which may take its time: not to be called where nothing may wait.
  public static func list() -> [CaptureDevice] {
    CameraDevices.devices() + ScreenDevices.devices() + MicrophoneDevices.devices()
  }
}
