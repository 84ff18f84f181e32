package import Capture
internal import Media

/// The microphones of this machine.
package enum MicrophoneDevices {
  /// Those that a person chooses from, the system's default first.
  ///
  /// Each one is opened for a moment, without taking sound from it. May take a second for each that does not answer.
  package static func devices() -> [CaptureDevice] {
    #if canImport(CALSA)
    MicrophoneList.devices()
    #else
    []
    #endif
  }
}
