import Capture
import Media
import Streaming
import Synchronization
import TestSupport
import Testing
import Threading

@testable import HTTPServer

extension HTTPControlTests {
  @Test func `devices are listed with their formats and controls`() async throws {
    let camera = CaptureDevice(
      kind: .camera, specification: "v4l2:/dev/video0", name: "Café \"Cam\"", stableName: "usb-1",
      formats: [
        .init(name: "YUYV", width: 640, height: 480, frameRates: .discrete([30, FrameRate(15, over: 2)])),
        .init(name: "MJPG", width: nil, height: nil, frameRates: .range(FrameRate(1)...60)),
      ], controls: [FakeControl.zoom], position: .front)
    let microphone = CaptureDevice(
      kind: .microphone, specification: "mic:hw", name: "Mic", stableName: "hw",
      formats: [.init(name: "S16_LE", sampleRate: 48_000, channels: 2)], problem: "it is busy; end the other program")
    let devices = HTTPServerDevices { isTrusted in
      .init(
        devices: isTrusted ? [camera, microphone] : [], generators: [.init(.video, "plasma", name: "Plasma")],
        isRestricted: !isTrusted)
    }
    try await self.withControl(devices: devices) { _, port in
      let answer = try await Self.send("GET", "", to: "/api/devices", port: port)
      #expect(
        answer.body == #"{"devices":[{"controls":[{"defaultValue":1,"inactive":false,"kind":"integer","label":"Zoom","#
          + #""maximum":9,"minimum":1,"name":"zoom-absolute","readOnly":false,"step":2,"value":5}],"formats":["#
          + #"{"frameRates":[30,7.5],"height":480,"name":"YUYV","width":640},"#
          + #"{"frameRateRange":{"maximum":60,"minimum":1},"name":"MJPG"}],"kind":"camera","name":"Café \"Cam\"","#
          + #""position":"front","specification":"v4l2:/dev/video0","stableName":"usb-1"},{"controls":[],"#
          + #""formats":[{"channels":2,"name":"S16_LE","sampleRate":48000}],"kind":"microphone","name":"Mic","#
          + #""problem":"it is busy; end the other program","specification":"mic:hw","stableName":"hw"}],"#
          + #""generators":[{"kind":"video","name":"Plasma","specification":"plasma"}],"restricted":false}"#)
      let elsewhere = try await RawClient.get("/api/devices", port: port)
      #expect(elsewhere.body.contains(#""devices":[]"#))
      #expect(elsewhere.body.contains(#""restricted":true"#))
    }
  }

  @Test func `one question to the devices serves all who ask meanwhile`() async throws {
    let count = Atomic(0)
    let gate = Gate()
    let flight = SingleFlight<Int>(threadName: "test", timeout: .seconds(20))
    let work: @Sendable () -> Int = {
      gate.wait()
      return count.add(1, ordering: .relaxed).newValue
    }
    let answers = try await withThrowingTaskGroup(of: Int?.self) { group in
      for _ in 0..<50 { group.addTask { await flight.run(work) } }
      try await eventually { gate.waiting > 0 }
      gate.open()
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(answers.count == 50 && !answers.contains(nil))
    // Those who were there first, and those who came while these were served.
    #expect(count.load(ordering: .relaxed) <= 50)
    #expect(await flight.run(work) == count.load(ordering: .relaxed))
  }

  @Test func `nobody waits for ever for a device that does not answer`() async {
    let gate = Gate()
    let flight = SingleFlight<Int>(threadName: "test", timeout: .milliseconds(20))
    #expect(
      await flight.run {
        gate.wait()
        return 1
      } == nil)
    // Another thread asks then; when that hangs too nobody does any more.
    #expect(await flight.run { 2 } == 2)
    #expect(
      await flight.run {
        gate.wait()
        return 3
      } == nil)
    #expect(await flight.run { 4 } == nil)
    gate.open()
    // Those who waited are gone, and there is room again.
    while await flight.run({ 5 }) == nil {}
  }
}

/// Holds threads up until it is opened.
private final class Gate: Sendable {
  private let state = Monitor((isOpen: false, waiting: 0))

  var waiting: Int { self.state.withLock { $0.waiting } }

  func open() { self.state.withLock { $0.isOpen = true } }

  func wait() {
    self.state.withLock { $0.waiting += 1 }
    _ = self.state.wait { $0.isOpen ? true : nil }
  }
}
