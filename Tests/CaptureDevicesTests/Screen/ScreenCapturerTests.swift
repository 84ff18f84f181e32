#if os(Linux)
import Capture
import CaptureDevices
import TestSupport
import Threading
import CXCB
import Foundation
import Media
import Testing

/// A color that varies with the position in each channel.
private func pattern(_ x: Int, _ y: Int) -> UInt32 {
  UInt32(x & 0xFF) | UInt32(y & 0xFF) << 8 | UInt32((x * 7 + y * 13) & 0xFF) << 16
}

extension Screens {
  @Suite("Screen capturer", .serialized, .timeLimit(.minutes(5)))
  struct ScreenCapturerTests {
    /// Captures while a body runs.
    private static func capturing(
      _ specification: ScreenSpecification, frameRate: FrameRate = FrameRate(30),
      _ body: (ScreenCapturer, ScreenViewer) throws -> Void
    ) throws {
      let capturer = ScreenCapturer(specification, frameRate: frameRate)
      let viewer = ScreenViewer()
      try capturer.start(consumer: viewer)
      defer { capturer.stop() }
      try body(capturer, viewer)
    }

    @Test(arguments: ["640x480x24", "641x479x24", "1920x1080x24"])
    func `every pixel of a pattern is captured`(screen: String) throws {
      let display = try TestDisplay(screen)
      let painter = try TestPainter(display.name)
      let size = screen.split(separator: "x").compactMap { Int($0) }
      let window = painter.window(x: 0, y: 0, width: size[0], height: size[1])
      painter.draw(window, width: size[0], height: size[1], pattern)
      try Self.capturing(ScreenSpecification(display: display.name, showsCursor: false)) { capturer, viewer in
        #expect(capturer.format == VideoFormat(width: size[0], height: size[1], pixelFormat: .bgra))
        let before = StreamClock.system.now()
        let screenshot = try #require(viewer.screenshot())
        #expect(screenshot.frame.format == capturer.format)
        #expect(screenshot.differences(from: pattern) == 0)
        #expect(onQuietMachine(before - screenshot.frame.timestamp < .seconds(5)))
      }
    }

    @Test func `changes are captured, and unchanged rows stay`() throws {
      let display = try TestDisplay()
      let painter = try TestPainter(display.name)
      let window = painter.window(x: 0, y: 0, width: 640, height: 480)
      painter.draw(window, width: 640, height: 480, pattern)
      try Self.capturing(ScreenSpecification(display: display.name, showsCursor: false)) { _, viewer in
        _ = try #require(viewer.screenshot())
        var expected = (0..<480).flatMap { y in (0..<640).map { pattern($0, y) } }
        // More changes than slots, each of which misses other changes.
        for index in 0..<24 {
          let box = (x: index * 25 % 600, y: index * 173 % 440, color: UInt32(0xFF0000 + index * 11))
          for y in box.y..<box.y + 20 {
            for x in box.x..<box.x + 20 { expected[y * 640 + x] = box.color }
          }
          painter.fill(window, x: box.x, y: box.y, width: 20, height: 20, color: box.color)
          let screenshot = try #require(viewer.screenshot { $0.color(box.x, box.y) == box.color })
          let differences = screenshot.differences { x, y in expected[y * 640 + x] }
          #expect(differences == 0, "after change \(index)")
        }
      }
    }

    @Test func `the last frame of a still screen is repeated twice per second, by reference`() throws {
      let display = try TestDisplay()
      let painter = try TestPainter(display.name)
      let window = painter.window(x: 0, y: 0, width: 640, height: 480)
      painter.fill(window, x: 0, y: 0, width: 640, height: 480, color: 0x123456)
      try Self.capturing(ScreenSpecification(display: display.name)) { _, viewer in
        _ = try #require(viewer.screenshot { $0.color(639, 0) == 0x123456 })
        let first = viewer.count
        #expect(viewer.further(4))
        let (times, buffers) = viewer.state.read { ($0.times[(first - 1)...], $0.buffers[(first - 1)...]) }
        for (before, after) in zip(times, times.dropFirst()) {
          #expect(after - before >= .milliseconds(500))
          #expect(onQuietMachine(after - before < .milliseconds(1_500)))
        }
        #expect(Set(buffers).count == 1)
        #expect(viewer.state.read { $0.ends.isEmpty && $0.skips == 0 })
      }
    }

    @Test func `frames of a screen that always changes come at the frame rate`() throws {
      let display = try TestDisplay()
      let painter = try TestPainter(display.name)
      let window = painter.window(x: 0, y: 0, width: 640, height: 480)
      let specification = ScreenSpecification(display: display.name, showsCursor: false, frameRate: FrameRate(20))
      try Self.capturing(specification) { capturer, viewer in
        #expect(capturer.format.frameRate == FrameRate(20))
        let start = StreamClock.system.now()
        var (index, elapsed) = (0, MediaDuration.zero)
        // Longer on a machine that is so busy that no interval has passed.
        while elapsed < .seconds(2) || viewer.count < 3 && elapsed < .seconds(300) {
          index += 1
          painter.fill(window, x: 0, y: 0, width: 64, height: 64, color: UInt32(index))
          elapsed = StreamClock.system.now() - start
        }
        let times = viewer.state.read { $0.times }
        #expect(onQuietMachine(times.count <= 42 && times.count > 10), "\(times.count) frames")
        // Half of the intervals are that of the frame rate, also on a busy machine.
        let intervals = zip(times, times.dropFirst()).map { $1 - $0 }
        try #require(!intervals.isEmpty)
        #expect(intervals.allSatisfy { $0 > .zero })
        let median = intervals.sorted()[intervals.count / 2]
        #expect(onQuietMachine(median > .milliseconds(40) && median < .milliseconds(60)), "\(median.seconds) s")
      }
    }

    @Test func `a consumer that holds all frames gets reports of skipped ones, and held frames are not overwritten`()
      throws
    {
      let display = try TestDisplay()
      let painter = try TestPainter(display.name)
      let window = painter.window(x: 0, y: 0, width: 640, height: 480)
      let capturer = ScreenCapturer(ScreenSpecification(display: display.name, showsCursor: false))
      let collector = FrameCollector()
      try capturer.start(consumer: collector)
      defer { capturer.stop() }
      // The first frame does not wait for a change, and must not show the first color.
      _ = collector.frames(1)
      for color in 1...40 as ClosedRange<UInt32> {
        painter.fill(window, x: 0, y: 0, width: 640, height: 480, color: color)
        // A frame may be a repetition: only one with the new color has captured the change.
        let isSkipped = collector.state.wait(until: StreamClock.system.now() + .seconds(300)) { state -> Bool? in
          if !state.skips.isEmpty { return true }
          let shown = state.frames.last.map { ScreenViewer.Screenshot(frame: $0).color(0, 0) }
          return shown == color ? false : nil
        }
        if isSkipped != false { break }
      }
      #expect(collector.state.read { !$0.skips.isEmpty })
      capturer.stop()
      let frames = collector.state.read { $0.frames }
      let distinct = Dictionary(frames.map { (ObjectIdentifier($0.buffer), $0) }) { first, _ in first }
      #expect(distinct.count == 5)
      // Held frames are not overwritten: each has one color, and no two the same.
      let colors = distinct.values.map { ScreenViewer.Screenshot(frame: $0) }.map {
        ($0.color(0, 0), $0.color(639, 479))
      }
      #expect(colors.allSatisfy { $0.0 == $0.1 })
      #expect(Set(colors.map { $0.0 }).count == 5)
    }

    @Test(arguments: [(16, 0xF8FCF8 as UInt32), (30, 0xFFFFFF)])
    func `other color depths are converted`(depth: Int, mask: UInt32) throws {
      let display = try TestDisplay("320x200x\(depth)")
      let painter = try TestPainter(display.name)
      let colors: [UInt32] = [0xF80000, 0x00FC00, 0x0000F8, 0x888888]
      for (index, color) in colors.enumerated() {
        let (red, green, blue) = (color >> 16, color >> 8 & 0xFF, color & 0xFF)
        let pixel =
          depth == 16
          ? (red >> 3) << 11 | (green >> 2) << 5 | blue >> 3
          : red << 22 | green << 12 | blue << 2
        _ = painter.window(x: index * 80, y: 0, width: 80, height: 200, color: pixel)
      }
      try Self.capturing(ScreenSpecification(display: display.name, showsCursor: false)) { capturer, viewer in
        #expect(capturer.format.pixelFormat == .bgra)
        let expected = { (x: Int, _: Int) in colors[x / 80] & mask }
        let screenshot = try #require(
          viewer.screenshot { screenshot in screenshot.color(300, 100) & mask == expected(300, 100) })
        #expect((0..<320).allSatisfy { screenshot.color($0, 199) & mask == expected($0, 199) })
      }
    }

    @Test func `an unsupported color depth is an error`() throws {
      let display = try TestDisplay("320x200x8")
      let capturer = ScreenCapturer(ScreenSpecification(display: display.name))
      let error = #expect(throws: VidiconError.self) { try capturer.start(consumer: ScreenViewer()) }
      #expect(error?.code == .invalidData)
      #expect(error?.cause.contains("depth of 8") == true)
      #expect(!capturer.isStarted)
    }

    @Test func `frames are the same without shared memory`() throws {
      let display = try TestDisplay(arguments: ["-extension", "MIT-SHM"])
      let painter = try TestPainter(display.name)
      let window = painter.window(x: 0, y: 0, width: 640, height: 480)
      painter.draw(window, width: 640, height: 480, pattern)
      try Self.capturing(ScreenSpecification(display: display.name, showsCursor: false)) { _, viewer in
        let screenshot = try #require(viewer.screenshot())
        #expect(screenshot.differences(from: pattern) == 0)
        painter.fill(window, x: 600, y: 400, width: 40, height: 80, color: 0xABCDEF)
        let next = try #require(viewer.screenshot { $0.color(639, 479) == 0xABCDEF })
        #expect(next.differences(width: 600, from: pattern) == 0)
      }
    }

    @Test func `a region is captured alone, clipped to the screen`() throws {
      let display = try TestDisplay()
      let painter = try TestPainter(display.name)
      let window = painter.window(x: 0, y: 0, width: 640, height: 480)
      painter.draw(window, width: 640, height: 480, pattern)
      for (region, width, height) in [
        (ScreenSpecification.Region(x: 101, y: 53, width: 203, height: 99), 203, 99),
        (.init(x: 600, y: 400, width: 65_535, height: 65_535), 40, 80),
        (.init(x: 639, y: 479, width: 1, height: 1), 1, 1),
      ] {
        let specification = ScreenSpecification(display: display.name, region: region, showsCursor: false)
        try Self.capturing(specification) { capturer, viewer in
          #expect((capturer.format.width, capturer.format.height) == (width, height))
          let screenshot = try #require(viewer.screenshot())
          #expect(screenshot.differences { pattern($0 + region.x, $1 + region.y) } == 0)
        }
      }
      let outside = ScreenSpecification(display: display.name, region: .init(x: 640, y: 0, width: 10, height: 10))
      let error = #expect(throws: VidiconError.self) { try ScreenCapturer(outside).start(consumer: ScreenViewer()) }
      #expect(error?.cause.contains("640×480") == true)
    }

    @Test func `the pointer is drawn at its position, and leaves no trace when it moves`() throws {
      let display = try TestDisplay()
      let painter = try TestPainter(display.name)
      let window = painter.window(x: 0, y: 0, width: 640, height: 480)
      painter.draw(window, width: 640, height: 480, pattern)
      painter.cursor(size: 16, hotSpot: 5, color: (0xFFFF, 0x8080, 0))
      let shown = { (pointer: (x: Int, y: Int)) in
        { (x: Int, y: Int) -> UInt32 in
          let (column, row) = (x - pointer.x + 5, y - pointer.y + 5)
          let isCursor = (0..<16).contains(column) && (0..<16).contains(row) && column + row > 0
          return isCursor ? 0xFF8000 : pattern(x, y)
        }
      }
      try Self.capturing(ScreenSpecification(display: display.name)) { _, viewer in
        for pointer in [(100, 50), (108, 62), (0, 0), (639, 479), (639, 0), (320, 240)] as [(x: Int, y: Int)] {
          painter.point(x: pointer.x, y: pointer.y)
          let screenshot = try #require(viewer.screenshot { $0.color(pointer.x, pointer.y) == 0xFF8000 })
          #expect(screenshot.differences(from: shown(pointer)) == 0, "\(pointer)")
        }
        // A changed pointer image is captured without a movement.
        painter.cursor(size: 16, hotSpot: 5, color: (0, 0xFFFF, 0xFFFF))
        #expect(viewer.screenshot { $0.color(320, 240) == 0x00FFFF } != nil)
      }
      try Self.capturing(ScreenSpecification(display: display.name, showsCursor: false)) { _, viewer in
        let screenshot = try #require(viewer.screenshot())
        #expect(screenshot.differences(from: pattern) == 0)
      }
      let region = ScreenSpecification.Region(x: 300, y: 230, width: 40, height: 20)
      try Self.capturing(ScreenSpecification(display: display.name, region: region)) { _, viewer in
        let screenshot = try #require(viewer.screenshot())
        #expect(screenshot.color(20, 10) == 0x00FFFF)
        #expect(screenshot.color(0, 0) == pattern(300, 230))
      }
    }

    @Test func `a resized screen changes the format`() throws {
      let display = try TestDisplay("800x600x24")
      let painter = try TestPainter(display.name)
      try Self.capturing(ScreenSpecification(display: display.name, showsCursor: false)) { capturer, viewer in
        _ = try #require(viewer.screenshot())
        #expect(try Self.resizeScreen(painter, width: 640, height: 480))
        let screenshot = try #require(viewer.screenshot { $0.frame.format.width == 640 })
        #expect(screenshot.frame.format.height == 480)
        #expect(capturer.format == screenshot.frame.format)
        #expect(viewer.state.read { $0.formats } == [screenshot.frame.format])
      }
    }

    /// Turns off the only output and resizes the screen, through RandR.
    private static func resizeScreen(_ painter: TestPainter, width: Int, height: Int) throws -> Bool {
      let (connection, root) = (painter.connection, painter.root)
      free(xcb_randr_query_version_reply(connection, xcb_randr_query_version(connection, 1, 5), nil))
      let reply = xcb_randr_get_screen_resources_current_reply(
        connection, xcb_randr_get_screen_resources_current(connection, root), nil)
      let resources = try #require(reply)
      defer { free(resources) }
      let crtc = try #require(xcb_randr_get_screen_resources_current_crtcs(resources))[0]
      let answer = xcb_randr_set_crtc_config_reply(
        connection,
        xcb_randr_set_crtc_config(
          connection, crtc, 0, resources.pointee.config_timestamp, 0, 0, 0,
          UInt16(XCB_RANDR_ROTATION_ROTATE_0.rawValue),
          0, nil), nil)
      defer { free(answer) }
      let error = xcb_request_check(
        connection,
        xcb_randr_set_screen_size_checked(connection, root, UInt16(width), UInt16(height), 200, 150))
      defer { free(error) }
      return answer?.pointee.status == 0 && error == nil
    }
  }
}
#endif
