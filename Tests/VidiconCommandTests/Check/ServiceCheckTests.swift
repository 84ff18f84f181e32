import ArgumentParser
import Capture
import ControlAPI
import Foundation
import Media
import Streaming
import Synchronization
import TestSupport
import Testing
import Vidicon

@testable import VidiconCommand

@Suite("Check of a program that serves", .timeLimit(.minutes(15)))
struct ServiceCheckTests {
  private static func work(
    encoded: Int = 60, passedThrough: Int = 0, dropped: Int = 0, milliseconds: Int64 = 5
  ) -> CheckFinding {
    EncodingFacts(works: [
      .init(
        stream: "door", format: "1280x720 at 30 fps with libx264", frameRate: 30, encoded: encoded,
        passedThrough: passedThrough, dropped: dropped, timePerFrame: .milliseconds(milliseconds))
    ]).findings[0]
  }

  @Test func `a stream that drops frames is a fault, or a warning where they are few`() {
    let finding = Self.work(encoded: 40, dropped: 20)
    #expect(finding.verdict == .fault && finding.subject == "encoder of door")
    #expect(finding.meaning.contains("20 of 60 frames were just dropped"))
    #expect("\(finding)".contains("--size 960x540 --fps 15"))
    #expect(Self.work(encoded: 59, dropped: 1).verdict == .warning)
    // None was finished.
    #expect(Self.work(encoded: 0, dropped: 3).verdict == .fault)
  }

  @Test func `a stream that has little time left for a frame is a warning`() {
    #expect(Self.work(milliseconds: 30).verdict == .warning)
    let finding = Self.work(milliseconds: 5)
    #expect(finding.verdict == .ok && finding.meaning.contains("6.6 times real time while serving"))
    // Frames of less time than the clock measures.
    #expect(Self.work(milliseconds: 0).verdict == .ok)
  }

  @Test func `a stream that encodes nothing is all right`() {
    let passed = Self.work(encoded: 0, passedThrough: 60)
    #expect(passed == .ok("encoder of door", "the video of the source is passed through"))
    #expect(Self.work(encoded: 0) == .ok("encoder of door", "no frame was due"))
  }

  @Test func `the work of a stream is that between two moments`() async throws {
    let stream = LiveStream("door", video: VideoSettings(width: 64, height: 48, frameRate: 20))
    stream.attachVideo(BarsCapturer(width: 64, height: 48, frameRate: 20))
    let before = stream.statistics
    try await stream.start()
    do {
      try await eventually { stream.statistics.framesEncoded >= 2 }
      let work = EncodingFacts.Work(stream, since: before)
      #expect(work.encoded >= 2 && work.passedThrough == 0 && work.timePerFrame > .zero)
      #expect(work.stream == "door" && work.frameRate == 20)
      #expect(work.format == "64x48 at 20 fps with \(stream.videoSettings.encoder)")
    } catch {
      await stream.stop()
      throw error
    }
    await stream.stop()
    let ended = EncodingFacts([stream], within: .zero)
    #expect(ended.works.map(\.encoded) == [0] && ended.findings.map(\.verdict) == [.ok])
  }

  @Test func `ports on which the program serves are all right, and another that replaced one is a cause`() throws {
    var configuration = try ServeConfiguration(
      unchecked: ServeCommand.parse(["--source", "bars", "--rtsp-port", "0", "--http-port", "81", "--webrtc", "off"]))
    let served = CameraServerPorts(rtsp: 40_001, http: 81)
    let facts = PortFacts(configuration, served: served)
    // Without the right to it: the port was opened for the program.
    #expect(facts.ports.map(\.state) == [.served, .served] && facts.ports.map(\.number) == [40_001, 81])
    #expect(facts.findings.map(\.subject) == ["RTSP port 40001", "HTTP port 81"])
    #expect(facts.findings.allSatisfy { $0.verdict == .ok && $0.meaning == "this program serves on it" })
    configuration.bind = "192.0.2.7"
    let other = PortFacts(configuration, served: CameraServerPorts(rtsp: 40_001, http: 8081))
    #expect(other.ports.map(\.state) == [.served, .noAddress])
  }

  @Test func `the check is about the configuration in force and the streams that run`() async throws {
    var configuration = try ServeConfiguration(
      unchecked: ServeCommand.parse([
        "--source", "bars", "--rtsp-port", "0", "--http-port", "0", "--bind", "127.0.0.1", "--webrtc", "off",
      ]))
    configuration.streams[0].name = "yard"
    let (stream, server) = (LiveStream("door"), StatusDisplayTests.server())
    try await server.start()
    let check = ServiceCheck.check(of: server.ports, [stream], file: "/etc/vidicon.yaml", configuration)
    let machine: Set<CheckPart> = [
      .configuration, .ports, .addresses, .firewall, .discovery, .cameras, .microphones, .screen, .encoder, .models,
      .recordings, .clock, .certificates, .files,
    ]
    #expect(Set(check.parts.keys) == machine)
    #expect(check.parts[.configuration]?() == [.ok("/etc/vidicon.yaml", "serve accepts it, with yard")])
    let ports = check.parts[.ports]?()
    #expect(ports?.map(\.meaning) == ["this program serves on it", "this program serves on it"])
    // A measurement would be about the stream of the configuration.
    #expect(check.parts[.encoder]?() == [.ok("encoder of door", "no frame was due")])
    await server.stop()
  }

  @Test func `commands of the page have complete paths, since they are typed in another folder`() throws {
    var configuration = try ServeConfiguration(
      unchecked: ServeCommand.parse(["--source", "bars", "--recordings", "none of these/clips"]))
    configuration.warnings = ["a: b.yaml: all users of this machine can read it; change that with chmod 600"]
    let check = ServiceCheck.check(of: nil, [], file: "a: b.yaml", configuration)
    let folder = FileManager.default.currentDirectoryPath
    let warning = check.parts[.configuration]?().first { $0.verdict == .warning }
    #expect(warning?.subject == "a: b.yaml")
    #expect(warning?.remedy == .command("chmod 600 \("\(folder)/a: b.yaml".shellWord)"))
    let recordings = check.parts[.recordings]?().first
    #expect(recordings?.meaning == "the folder \(folder)/none of these/clips does not exist")
  }

  @Test func `a part that has not ended is not checked again until it has`() async throws {
    let gate = Gate()
    let limit = Mutex(Duration.milliseconds(20))
    let check = ServiceCheck {
      MachineCheck(
        parts: [.screen: { gate.result([.ok("screen", "responds")]) }], limit: limit.withLock { $0 })
    }
    defer { gate.open() }
    let unresponsive = "no response within the time of the check"
    #expect(await check.perform().findings.map(\.meaning) == [unresponsive])
    // The thread may begin after the time of the check.
    try await eventually { gate.waiting == 1 }
    #expect(await check.perform().findings.map(\.meaning) == [unresponsive])
    #expect(gate.waiting == 1)
    limit.withLock { $0 = .seconds(300) }
    gate.open()
    let end = ContinuousClock.now + .seconds(300)
    var entry = await check.perform()
    while entry.verdict != "ok", ContinuousClock.now < end { entry = await check.perform() }
    #expect(entry.findings.map(\.meaning) == ["responds"])
  }
}
