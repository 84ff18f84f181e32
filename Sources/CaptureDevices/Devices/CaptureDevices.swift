public import Capture

/// The cameras, screens and microphones of this machine.
public enum CaptureDevices {
  /// Lists the connected devices, cameras first, then screens and windows, then microphones. Devices that cannot be used
  /// are included with their ``CaptureDevice/problem``.
  ///
  /// Opens each device for a moment and blocks for up to 2 s per device that does not respond: call it off the main thread
  /// and off event loops.
  public static func list() -> [CaptureDevice] {
    CameraDevices.devices() + ScreenDevices.devices() + MicrophoneDevices.devices()
  }
}
