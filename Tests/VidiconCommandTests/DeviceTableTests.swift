import Capture
import CaptureDevices
import Media
import Testing

@testable import VidiconCommand

@Suite("The table of devices")
struct DeviceTableTests {
  private static let camera = CaptureDevice(
    kind: .camera, specification: "v4l2:/dev/video0", name: "HD Pro Webcam C920", stableName: "usb-046d_C920-index0",
    formats: [
      .init(name: "YUYV", width: 640, height: 480, frameRates: .discrete([30, 15])),
      .init(name: "YUYV", width: 1280, height: 720, frameRates: .discrete([10])),
      .init(name: "MJPG", width: 1920, height: 1080, frameRates: .range(FrameRate(5)...FrameRate(30))),
    ],
    controls: [
      .init(name: "brightness", label: "Brightness", kind: .integer, range: 0...255, defaultValue: 128, value: 100),
      .init(name: "focus-auto", label: "Focus", kind: .boolean, range: 0...1, defaultValue: 1, value: 1),
      .init(name: "do-it", label: "Do it", kind: .button, range: 0...0, defaultValue: 0, value: 0),
    ], position: .front)

  @Test func `specifications are on the left, and lines are at most as wide as a terminal`() {
    let microphone = CaptureDevice(
      kind: .microphone, specification: "mic:hw:CARD=C920", name: "C920 Mono", stableName: "C920",
      formats: [.init(name: "S16_LE", sampleRate: 48_000, channels: 1)])
    #expect(
      DeviceTable([microphone, Self.camera]).lines == [
        "Cameras, for --source",
        "  v4l2:/dev/video0  HD Pro Webcam C920 (front)",
        "                    usb-046d_C920-index0",
        "                    YUYV 640x480 at 30/15 fps, 1280x720 at 10 fps",
        "                    MJPG 1920x1080 at 5 to 30 fps",
        "                    controls brightness 100 (0 to 255), focus-auto on",
        "",
        "Microphones, for --audio",
        "  mic:hw:CARD=C920  C920 Mono",
        "                    C920",
        "                    S16_LE 48000 Hz mono",
      ])
  }

  @Test func `a device with a problem shows cause and remedy`() {
    let camera = CaptureDevice(
      kind: .camera, specification: "v4l2:/dev/video0", name: "/dev/video0", stableName: "/dev/video0",
      problem: "it may not be opened; run sudo usermod -aG video $USER and log in again")
    let lines = DeviceTable([camera]).lines
    #expect(lines[2] == "                    cannot be used: it may not be opened; run sudo usermod -aG")
    #expect(lines.joined().contains("$USER"))
  }

  @Test func `long names are wrapped, and control characters in them are replaced`() {
    let long = CaptureDevice(
      kind: .window, specification: "screen::0?window=" + String(repeating: "9", count: 40),
      name: "A \u{1B}[31m title\nwith words " + String(repeating: "and words ", count: 20), stableName: "w")
    let lines = DeviceTable([Self.camera, long]).lines
    #expect(lines.allSatisfy { $0.count <= 80 })
    #expect(lines.joined().unicodeScalars.allSatisfy { $0.value >= 0x20 })
    #expect(lines.contains("  " + long.specification))
  }

  @Test func `without devices there is a hint`() {
    #expect(DeviceTable([]).lines.count == 1)
    #expect(DeviceTable([]).lines[0].hasPrefix("there are no cameras, screens and microphones"))
  }
}
