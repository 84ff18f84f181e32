import Capture
import Testing

@testable import CaptureDevices

@Suite("Names of V4L2 controls")
struct ControlNameTests {
  @Test(arguments: [
    ("Brightness", "brightness"), ("Exposure Time, Absolute", "exposure-time-absolute"),
    ("White Balance, Auto & Preset", "white-balance-auto-preset"), ("  LED1 Mode ", "led1-mode"), ("", ""),
    ("Größe", "gr-e"), ("---", ""), ("\u{FFFD}\u{FFFD}x", "x"),
  ]) func `a control has the driver's name in lower case with hyphens`(label: String, name: String) {
    #expect(DeviceControl.name(from: label) == name)
  }
}
