import Authentication
import Capture
import Media
import StreamControl
import Streaming
import Testing

@testable import ControlAPI

extension HTTPControlTests {
  @Test func `devices are listed with their formats and controls`() async throws {
    let camera = CaptureDevice(
      kind: .camera, specification: "v4l2:/dev/video0", name: "Café \"Cam\"", stableName: "usb-1",
      formats: [
        .init(name: "YUYV", width: 640, height: 480, frameRates: .discrete([30, FrameRate(15, over: 2)])),
        .init(name: "MJPG", width: nil, height: nil, frameRates: .range(FrameRate(1)...60)),
      ], controls: [Camera.zoom], position: .front)
    let microphone = CaptureDevice(
      kind: .microphone, specification: "mic:hw", name: "Mic", stableName: "hw",
      formats: [.init(name: "S16_LE", sampleRate: 48_000, channels: 2)], problem: "it is busy; end the other program")
    let catalog = SourceCatalog(
      devices: { [camera, microphone] }, generators: [.init(.video, "plasma", name: "Plasma")],
      cameraNames: { _ in [] }
    ) { _ in .init() }
    try await self.withControl(catalog: catalog) { _, port in
      let response = try await Self.send("GET", "", to: "/api/devices", port: port)
      #expect(
        response.body
          == #"{"devices":[{"controls":[{"defaultValue":1,"inactive":false,"kind":"integer","label":"Zoom","#
          + #""maximum":9,"minimum":1,"name":"zoom-absolute","readOnly":false,"step":2,"value":5}],"formats":["#
          + #"{"frameRates":[30,7.5],"height":480,"name":"YUYV","width":640},"#
          + #"{"frameRateRange":{"maximum":60,"minimum":1},"name":"MJPG"}],"kind":"camera","name":"Café \"Cam\"","#
          + #""position":"front","specification":"v4l2:/dev/video0","stableName":"usb-1"},{"controls":[],"#
          + #""formats":[{"channels":2,"name":"S16_LE","sampleRate":48000}],"kind":"microphone","name":"Mic","#
          + #""problem":"it is busy; end the other program","specification":"mic:hw","stableName":"hw"}],"#
          + #""generators":[{"kind":"video","name":"Plasma","specification":"plasma"}],"restricted":false}"#)
      let elsewhere = try await Self.send("GET", "", to: "/api/devices", host: "cam", port: port)
      #expect(Self.status(elsewhere) == "401")
    }
    try await self.withControl(access: .permissive { $0.control = .all }, catalog: catalog) { _, port in
      let elsewhere = try await Self.send("GET", "", to: "/api/devices", host: "cam", port: port)
      #expect(elsewhere.body.contains(#""devices":[]"#))
      #expect(elsewhere.body.contains(#""restricted":true"#))
    }
  }
}
