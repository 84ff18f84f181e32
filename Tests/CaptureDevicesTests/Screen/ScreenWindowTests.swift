import Capture
import Threading

#if os(Linux)
@testable import CaptureDevices
import CXCB
import Foundation
import Media
import Testing

private func pattern(_ x: Int, _ y: Int) -> UInt32 {
  UInt32(x & 0xFF) | UInt32(y & 0xFF) << 8 | UInt32((x * 5 + y * 3) & 0xFF) << 16
}

/// A window of 200 × 100 pixels on an X server of its own, and its capturer.
private struct CapturedWindow {
  let display: TestDisplay
  let painter: TestPainter
  let window: TestPainter.Window
  let capturer: ScreenCapturer
  let viewer = ScreenViewer()

  init(x: Int = 0, y: Int = 0, border: Int = 0, showsCursor: Bool = false) throws {
    self.display = try TestDisplay()
    self.painter = try TestPainter(self.display.name)
    self.window = self.painter.window(x: x, y: y, width: 200, height: 100, border: border)
    self.capturer = ScreenCapturer(
      ScreenSpecification(display: self.display.name, window: self.window.identifier, showsCursor: showsCursor))
  }

  /// Starts the capturer and waits for the first frame.
  @discardableResult
  func start() throws -> ScreenViewer.Screenshot {
    try self.capturer.start(consumer: self.viewer)
    return try #require(self.viewer.screenshot())
  }
}

extension Screens {
  @Suite("Screen capturer of a window", .serialized, .timeLimit(.minutes(5)))
  struct ScreenWindowTests {
    @Test func `a window is captured without its border, also when moved or covered`() throws {
      let fixture = try CapturedWindow(x: 40, y: 30, border: 3)
      let (painter, window, capturer, viewer) = (fixture.painter, fixture.window, fixture.capturer, fixture.viewer)
      painter.draw(window, width: 200, height: 100, pattern)
      defer { capturer.stop() }
      #expect(try fixture.start().differences(from: pattern) == 0)
      #expect(capturer.format == VideoFormat(width: 200, height: 100, pixelFormat: .bgra))

      // Moved, and partly off the screen.
      painter.configure(window, XCB_CONFIG_WINDOW_X, 550, 420)
      painter.fill(window, x: 150, y: 80, width: 50, height: 20, color: 0x00FFAA)
      let moved = try #require(viewer.screenshot { $0.color(199, 99) == 0x00FFAA })
      #expect(moved.differences(height: 80, from: pattern) == 0)

      // Covered by another window, which must not be captured, and drawn on meanwhile.
      _ = painter.window(x: 500, y: 380, width: 140, height: 100, color: 0xFF0000)
      painter.fill(window, x: 0, y: 0, width: 10, height: 10, color: 0x0000FF)
      let covered = try #require(viewer.screenshot { $0.color(0, 0) == 0x0000FF })
      #expect(covered.differences(x: 10, width: 190, height: 80, from: pattern) == 0)
      #expect(viewer.state.read { $0.formats.isEmpty && $0.ends.isEmpty })
    }

    @Test func `a resized window changes the format`() throws {
      let fixture = try CapturedWindow(x: 40, y: 30)
      let (painter, window, capturer, viewer) = (fixture.painter, fixture.window, fixture.capturer, fixture.viewer)
      defer { capturer.stop() }
      try fixture.start()
      for (width, height) in [(321, 155), (64, 48), (700, 500)] {
        painter.configure(window, XCB_CONFIG_WINDOW_WIDTH, UInt32(width), UInt32(height))
        painter.draw(window, width: width, height: height, pattern)
        let screenshot = try #require(
          viewer.screenshot {
            $0.frame.format.width == width
              && $0.color(width - 1, height - 1) == pattern(width - 1, height - 1)
          })
        #expect(screenshot.differences(from: pattern) == 0)
        #expect(capturer.format == screenshot.frame.format)
      }
      let formats = viewer.state.read { $0.formats }
      #expect(formats.map(\.width) == [321, 64, 700])
      #expect(formats.map(\.height) == [155, 48, 500])
    }

    @Test func `a region of a window is captured with the pointer over it`() throws {
      let display = try TestDisplay()
      let painter = try TestPainter(display.name)
      let window = painter.window(x: 100, y: 100, width: 200, height: 100)
      painter.draw(window, width: 200, height: 100, pattern)
      painter.cursor(size: 8, hotSpot: 0, color: (0xFFFF, 0xFFFF, 0xFFFF))
      let region = ScreenSpecification.Region(x: 50, y: 20, width: 100, height: 50)
      let capturer = ScreenCapturer(
        ScreenSpecification(display: display.name, region: region, window: window.identifier))
      let viewer = ScreenViewer()
      try capturer.start(consumer: viewer)
      defer { capturer.stop() }
      painter.point(x: 170, y: 130)
      let screenshot = try #require(viewer.screenshot { $0.color(21, 11) == 0xFFFFFF })
      #expect(screenshot.differences(width: 20, from: { pattern($0 + 50, $1 + 20) }) == 0)
      #expect(screenshot.color(28, 10) == pattern(78, 30))
    }

    @Test func `a hidden window is reported once, and captured again when it is shown`() throws {
      let fixture = try CapturedWindow()
      let (painter, window, capturer, viewer) = (fixture.painter, fixture.window, fixture.capturer, fixture.viewer)
      defer { capturer.stop() }
      try fixture.start()
      painter.unmap(window)
      let error = try #require(viewer.ends(1).first ?? nil)
      #expect(error.cause.contains("not on the screen"))
      painter.map(window)
      painter.draw(window, width: 200, height: 100, pattern)
      let screenshot = try #require(viewer.screenshot { $0.color(199, 99) == pattern(199, 99) })
      #expect(screenshot.differences(from: pattern) == 0)
      #expect(viewer.ends(1).count == 1)
      capturer.stop()
      painter.unmap(window)
      let hidden = #expect(throws: VidiconError.self) { try capturer.start(consumer: viewer) }
      #expect(hidden?.cause.contains("not on the screen") == true)
    }

    @Test func `a closed window ends the capture, reported once`() throws {
      let fixture = try CapturedWindow(showsCursor: true)
      let (painter, window, capturer, viewer) = (fixture.painter, fixture.window, fixture.capturer, fixture.viewer)
      defer { capturer.stop() }
      try fixture.start()
      painter.destroy(window)
      let error = try #require(viewer.ends(1).first ?? nil)
      #expect(error.cause == "the window was closed")
      // Safe because none comes.
      #expect(viewer.ends(2, within: 1).count == 1)
      #expect(capturer.isStarted)
      capturer.stop()
      let gone = #expect(throws: VidiconError.self) { try capturer.start(consumer: viewer) }
      #expect(gone?.code == .notFound)
      #expect(gone?.cause.contains("no such window") == true)
    }

    @Test func `the root window is refused`() throws {
      let display = try TestDisplay()
      let painter = try TestPainter(display.name)
      let capturer = ScreenCapturer(ScreenSpecification(display: display.name, window: painter.root))
      let error = #expect(throws: VidiconError.self) { try capturer.start(consumer: ScreenViewer()) }
      #expect(error?.cause.contains("whole screen") == true)
    }

    @Test func `without the Composite extension windows are refused`() throws {
      let display = try TestDisplay(arguments: ["-extension", "Composite"])
      let painter = try TestPainter(display.name)
      let window = painter.window(x: 0, y: 0, width: 200, height: 100)
      let capturer = ScreenCapturer(ScreenSpecification(display: display.name, window: window.identifier))
      let error = #expect(throws: VidiconError.self) { try capturer.start(consumer: ScreenViewer()) }
      #expect(error?.description.contains("Composite") == true)
      #expect(error?.nextStep.contains("region=") == true)
    }

    @Test func `screens and windows are listed with sizes and titles`() throws {
      let display = try TestDisplay()
      let painter = try TestPainter(display.name)
      let window = painter.window(x: 0, y: 0, width: 200, height: 100)
      painter.title(window, "An\u{1B}[31m editor")
      _ = painter.window(x: 300, y: 0, width: 10, height: 10)
      let devices = ScreenDevices.devices(of: display.name, timeout: .seconds(300))
      #expect(devices.map(\.kind) == [.screen, .window])
      #expect(devices.map(\.name) == ["Screen \(display.name)", "An [31m editor"])
      #expect(devices.map { $0.formats.first?.width } == [640, 200])
      #expect(devices.map { $0.formats.first?.height } == [480, 100])
      #expect(devices[0].specification == "screen:\(display.name)")
      #expect(devices[1].specification == "screen:\(display.name)?window=0x" + String(window.identifier, radix: 16))
      for device in devices {
        let capturer = ScreenCapturer(try ScreenSpecification(parsing: device.specification))
        try capturer.start(consumer: ScreenViewer())
        #expect(capturer.format.width == device.formats[0].width)
        capturer.stop()
      }
      display.kill()
      let broken = ScreenDevices.devices(of: display.name, timeout: .seconds(300))
      #expect(broken.count == 1)
      #expect(broken.first?.problem?.contains("no X server at \(display.name)") == true)
    }
  }
}
#endif
