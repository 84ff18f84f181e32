#if os(Linux)
@testable import CaptureDevices
@testable import Threading
import Capture
import Foundation
import Media
import TestSupport
import Testing

extension Screens {
  @Suite("Screen capturer failures", .serialized, .timeLimit(.minutes(5)))
  struct ScreenFailureTests {
    private static func startError(_ specification: ScreenSpecification) -> VidiconError? {
      #expect(throws: VidiconError.self) { try ScreenCapturer(specification).start(consumer: ScreenViewer()) }
    }

    @Test func `a lost X server is reported once, and captured again when it is back`() throws {
      let display = try TestDisplay()
      let capturer = ScreenCapturer(ScreenSpecification(display: display.name))
      let viewer = ScreenViewer()
      try capturer.start(consumer: viewer)
      defer { capturer.stop() }
      _ = try #require(viewer.screenshot())
      display.kill()
      let error = try #require(viewer.ends(1).first ?? nil)
      #expect(error.code == .failed)
      #expect(error.cause == "the connection to the X server was lost")
      let before = viewer.count
      let next = try TestDisplay("800x600x24", name: display.name)
      let painter = try TestPainter(next.name)
      _ = painter.window(x: 0, y: 0, width: 800, height: 600, color: 0x336699)
      let screenshot = try #require(viewer.screenshot { $0.frame.format.width == 800 && $0.color(0, 0) == 0x336699 })
      #expect(screenshot.frame.format.height == 600)
      #expect(viewer.count > before)
      #expect(viewer.state.read { $0.formats.map(\.width) } == [800])
      #expect(capturer.format.width == 800)
      #expect(viewer.ends(1).count == 1)
    }

    @Test func `stop does not wait for an X server that was lost or hangs`() throws {
      for isHung in [false, true] {
        let display = try TestDisplay()
        let capturer = ScreenCapturer(ScreenSpecification(display: display.name))
        let viewer = ScreenViewer()
        try capturer.start(consumer: viewer)
        _ = try #require(viewer.screenshot())
        if isHung {
          kill(display.processIdentifier, SIGSTOP)
        } else {
          display.kill()
          _ = viewer.ends(1)
        }
        let before = StreamClock.system.now()
        capturer.stop()
        #expect(onQuietMachine(StreamClock.system.now() - before < .seconds(1)))
        #expect(!capturer.isStarted)
      }
    }

    @Test func `a missing display is an error of one line`() throws {
      func problem(_ environment: [String: String], _ name: String? = nil) -> VidiconError? {
        #expect(throws: VidiconError.self) {
          try X11Display(name, source: "screen:") { environment[$0] }
        }
      }
      #expect(problem([:])?.cause == "there is no X display: DISPLAY is not set")
      let wayland = try #require(problem(["WAYLAND_DISPLAY": "wayland-0"]))
      #expect(wayland.cause.contains("Wayland"))
      #expect(wayland.nextStep.contains("XWayland"))
      #expect(problem(["DISPLAY": "nonsense"])?.cause.contains("\"nonsense\", which is not") == true)
      let display = try X11Display("unix/:7.1", source: "") { _ in nil }
      #expect((display.host, display.number) == (nil, 7))
      #expect(try X11Display(nil, source: "") { _ in "tcp/far:2" }.host == "far")
      let none = try #require(Self.startError(ScreenSpecification(display: ":59000")))
      #expect(none.code == .notFound)
      #expect(none.cause.contains("no X server at :59000"))
      let remote = try #require(Self.startError(ScreenSpecification(display: "127.0.0.1:59000")))
      #expect(remote.cause.contains("no X server at 127.0.0.1:59000"))
      for error in [wayland, none, remote] { #expect(!error.description.contains("\n")) }
    }

    @Test func `a screen number that the server does not have is an error`() throws {
      let display = try TestDisplay()
      let error = try #require(Self.startError(ScreenSpecification(display: display.name + ".7")))
      #expect(error.code == .notFound)
      #expect(error.cause.contains("no screen with this number"))
    }

    @Test func `a server that rejects the credentials is an error that names XAUTHORITY`() throws {
      let file = FileManager.default.temporaryDirectory.appendingPathComponent("vidicon-x-\(UUID().uuidString)")
      defer { try? FileManager.default.removeItem(at: file) }
      // Xauth(5): family 0xFFFF for any machine, then address, number, name and data, each after its length.
      try Data([0xFF, 0xFF, 0, 0, 0, 0, 0, 18] + Array("MIT-MAGIC-COOKIE-1".utf8) + [0, 16] + Array(1...16)).write(
        to: file)
      let display = try TestDisplay(arguments: ["-auth", file.path])
      let error = try #require(Self.startError(ScreenSpecification(display: display.name)))
      #expect(error.code == .notPermitted)
      #expect(error.cause.contains("rejects the connection (Authorization required"), "\(error.cause)")
      #expect(error.nextStep.contains("XAUTHORITY"))
    }

    @Test func `a still 1080p screen at 30 frames per second takes less than 2% of a core`() throws {
      let display = try TestDisplay("1920x1080x24")
      let painter = try TestPainter(display.name)
      painter.cursor(size: 16, hotSpot: 0, color: (0, 0, 0))
      let capturer = ScreenCapturer(ScreenSpecification(display: display.name))
      let viewer = ScreenViewer()
      try capturer.start(consumer: viewer)
      defer { capturer.stop() }
      _ = try #require(viewer.screenshot())
      let (before, start) = (try Self.threadTime("screen"), StreamClock.system.now())
      #expect(viewer.further(10))
      let (after, end) = (try Self.threadTime("screen"), StreamClock.system.now())
      let share = Double(after - before) / Double((end - start).nanoseconds)
      #expect(onQuietMachine(share < 0.02), "\(share * 100)% of a core")
    }

    /// CPU time of a thread of this process in nanoseconds, user and system.
    private static func threadTime(_ name: String) throws -> Int64 {
      for task in try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task") {
        let folder = "/proc/self/task/\(task)"
        guard (try? String(systemFile: "\(folder)/comm")) == "\(name)\n" else { continue }
        let text = try String(systemFile: "\(folder)/schedstat")
        return try #require(text.split(separator: " ").first.flatMap { Int64($0) })
      }
      throw TestDisplay.Failure(description: "there is no thread \(name)")
    }

    @Test func `50 starts and stops leak no descriptor, thread or memory`() async throws {
      let display = try TestDisplay()
      let painter = try TestPainter(display.name)
      painter.finish()
      func resources() throws -> (descriptors: Int, threads: Int, segments: Int) {
        let maps = try String(systemFile: "/proc/self/maps")
        return (
          try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count,
          try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").filter {
            let name = try? String(systemFile: "/proc/self/task/\($0)/comm")
            return name?.hasPrefix("screen") == true
          }.count,
          maps.split(separator: "\n").filter { $0.contains("memfd:vidicon") }.count
        )
      }
      let capturer = ScreenCapturer(ScreenSpecification(display: display.name))
      func startAndStop() throws {
        let viewer = ScreenViewer()
        try capturer.start(consumer: viewer)
        _ = try #require(viewer.screenshot())
        capturer.stop()
      }
      try startAndStop()
      let before = try resources()
      for _ in 0..<50 { try startAndStop() }
      let after = try resources()
      // Other tests open descriptors too; each start here opens three.
      #expect(after.descriptors < before.descriptors + 50, "\(before) \(after)")
      #expect(after.segments == 0)
      // A thread that connects may end after the start that it was for, and other tests have such threads too.
      try await eventually { try resources().threads == 0 }
      // The server unmaps the memory of a client when it notices that the connection is closed.
      try await eventually {
        let maps = try String(systemFile: "/proc/\(display.processIdentifier)/maps")
        return maps.split(separator: "\n").count { $0.contains("memfd:vidicon") } <= 1
      }
    }
  }
}
#endif
