#if os(Linux)
import CaptureDevices
import TestSupport
import Threading
import CXCB
import Foundation
import Media
import Testing

/// A colour that differs from place to place in each channel.
private func pattern(_ x: Int, _ y: Int) -> UInt32 {
  UInt32(x & 0xFF) | UInt32(y & 0xFF) << 8 | UInt32((x * 7 + y * 13) & 0xFF) << 16
}

extension Screens {
  @Suite("Screen capturer", .serialized, .timeLimit(.minutes(3)))
  struct ScreenCapturerTests {
    /// Captures while a test looks on.
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
    func `a known pattern comes pixel by pixel, corners included`(screen: String) throws {
      let display = try TestDisplay(screen)
      let painter = try TestPainter(display.name)
      let size = screen.split(separator: "x").compactMap { Int($0) }
      let window = painter.window(x: 0, y: 0, width: size[0], height: size[1])
      painter.draw(window, width: size[0], height: size[1], pattern)
      try Self.capturing(ScreenSpecification(display: display.name, showsCursor: false)) { capturer, viewer in
        #expect(capturer.format == VideoFormat(width: size[0], height: size[1], pixelFormat: .bgra))
        let before = StreamClock.system.now()
        let picture = try #require(viewer.picture())
        #expect(picture.frame.format == capturer.format)
        #expect(picture.differences(from: pattern) == 0)
        #expect(before - picture.frame.timestamp < .seconds(5))
      }
    }

    @Test func `what changes is seen, and all else stays`() throws {
      let display = try TestDisplay()
      let painter = try TestPainter(display.name)
      let window = painter.window(x: 0, y: 0, width: 640, height: 480)
      painter.draw(window, width: 640, height: 480, pattern)
      try Self.capturing(ScreenSpecification(display: display.name, showsCursor: false)) { _, viewer in
        _ = try #require(viewer.picture())
        var boxes: [(x: Int, y: Int, color: UInt32)] = []
        // More changes than there are memories, each of which has missed others than the next.
        for index in 0..<24 {
          let box = (x: index * 25 % 600, y: index * 173 % 440, color: UInt32(0xFF0000 + index * 11))
          boxes.append(box)
          painter.fill(window, x: box.x, y: box.y, width: 20, height: 20, color: box.color)
          let picture = try #require(viewer.picture { $0.color(box.x, box.y) == box.color })
          let differences = picture.differences { x, y in
            boxes.last { (0..<20).contains(x - $0.x) && (0..<20).contains(y - $0.y) }?.color ?? pattern(x, y)
          }
          #expect(differences == 0, "after change \(index)")
        }
      }
    }

    @Test func `a still screen is shown again twice a second, by reference`() throws {
      let display = try TestDisplay()
      let painter = try TestPainter(display.name)
      let window = painter.window(x: 0, y: 0, width: 640, height: 480)
      painter.fill(window, x: 0, y: 0, width: 640, height: 480, color: 0x123456)
      try Self.capturing(ScreenSpecification(display: display.name)) { _, viewer in
        _ = try #require(viewer.picture { $0.color(639, 0) == 0x123456 })
        let first = viewer.count
        #expect(viewer.further(4))
        let (times, buffers) = viewer.state.withLock { ($0.times[(first - 1)...], $0.buffers[(first - 1)...]) }
        for (before, after) in zip(times, times.dropFirst()) {
          #expect(after - before >= .milliseconds(500) && after - before < .milliseconds(1_500))
        }
        #expect(Set(buffers).count == 1)
        #expect(viewer.state.withLock { $0.ends.isEmpty && $0.skips == 0 })
      }
    }

    @Test func `frames come at most at the frame rate`() throws {
      let display = try TestDisplay()
      let painter = try TestPainter(display.name)
      let window = painter.window(x: 0, y: 0, width: 640, height: 480)
      let specification = ScreenSpecification(display: display.name, showsCursor: false, frameRate: FrameRate(20))
      try Self.capturing(specification) { capturer, viewer in
        #expect(capturer.format.frameRate == FrameRate(20))
        let start = StreamClock.system.now()
        var index = 0
        while StreamClock.system.now() - start < .seconds(2) {
          index += 1
          painter.fill(window, x: 0, y: 0, width: 64, height: 64, color: UInt32(index))
        }
        let times = viewer.state.withLock { $0.times }
        #expect(times.count <= 42 && times.count > 10, "\(times.count) frames")
        #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 })
      }
    }

    @Test func `a consumer that keeps all frames is told of those it has no memory for, and they are not written to`()
      throws
    {
      let display = try TestDisplay()
      let painter = try TestPainter(display.name)
      let window = painter.window(x: 0, y: 0, width: 640, height: 480)
      let capturer = ScreenCapturer(ScreenSpecification(display: display.name, showsCursor: false))
      let collector = FrameCollector()
      try capturer.start(consumer: collector)
      defer { capturer.stop() }
      var kept = 0
      for color in 1...40 as ClosedRange<UInt32> {
        painter.fill(window, x: 0, y: 0, width: 640, height: 480, color: color)
        kept = collector.frames(kept + 1, within: 1).count
        if collector.state.withLock({ !$0.skips.isEmpty }) { break }
      }
      #expect(collector.state.withLock { !$0.skips.isEmpty })
      capturer.stop()
      let frames = collector.state.withLock { $0.frames }
      let distinct = Dictionary(frames.map { (ObjectIdentifier($0.buffer), $0) }) { first, _ in first }
      #expect(distinct.count == 5)
      // Nobody draws over a picture that somebody looks at: each is of one colour, and no two of the same.
      let colors = distinct.values.map { ScreenViewer.Picture(frame: $0) }.map { ($0.color(0, 0), $0.color(639, 479)) }
      #expect(colors.allSatisfy { $0.0 == $0.1 })
      #expect(Set(colors.map { $0.0 }).count == 5)
    }

    @Test(arguments: [(16, 0xF8FCF8 as UInt32), (30, 0xFFFFFF)])
    func `other depths are converted`(depth: Int, mask: UInt32) throws {
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
        let wanted = { (x: Int, _: Int) in colors[x / 80] & mask }
        let picture = try #require(viewer.picture { picture in picture.color(300, 100) & mask == wanted(300, 100) })
        #expect((0..<320).allSatisfy { picture.color($0, 199) & mask == wanted($0, 199) })
      }
    }

    @Test func `a depth without colours is an error`() throws {
      let display = try TestDisplay("320x200x8")
      let capturer = ScreenCapturer(ScreenSpecification(display: display.name))
      let error = #expect(throws: VidiconError.self) { try capturer.start(consumer: ScreenViewer()) }
      #expect(error?.code == .invalidData)
      #expect(error?.cause.contains("depth of 8") == true)
      #expect(!capturer.isStarted)
    }

    @Test func `without shared memory pictures are the same`() throws {
      let display = try TestDisplay(arguments: ["-extension", "MIT-SHM"])
      let painter = try TestPainter(display.name)
      let window = painter.window(x: 0, y: 0, width: 640, height: 480)
      painter.draw(window, width: 640, height: 480, pattern)
      try Self.capturing(ScreenSpecification(display: display.name, showsCursor: false)) { _, viewer in
        let picture = try #require(viewer.picture())
        #expect(picture.differences(from: pattern) == 0)
        painter.fill(window, x: 600, y: 400, width: 40, height: 80, color: 0xABCDEF)
        let next = try #require(viewer.picture { $0.color(639, 479) == 0xABCDEF })
        #expect(next.differences(width: 600, from: pattern) == 0)
      }
    }

    @Test func `a region is captured alone, and cut where the screen ends`() throws {
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
          let picture = try #require(viewer.picture())
          #expect(picture.differences { pattern($0 + region.x, $1 + region.y) } == 0)
        }
      }
      let outside = ScreenSpecification(display: display.name, region: .init(x: 640, y: 0, width: 10, height: 10))
      let error = #expect(throws: VidiconError.self) { try ScreenCapturer(outside).start(consumer: ScreenViewer()) }
      #expect(error?.cause.contains("640×480") == true)
    }

    @Test func `the cursor is drawn where it points, follows, and leaves nothing behind`() throws {
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
          let picture = try #require(viewer.picture { $0.color(pointer.x, pointer.y) == 0xFF8000 })
          #expect(picture.differences(from: shown(pointer)) == 0, "\(pointer)")
        }
        // Another look of the cursor is seen without a move.
        painter.cursor(size: 16, hotSpot: 5, color: (0, 0xFFFF, 0xFFFF))
        #expect(viewer.picture { $0.color(320, 240) == 0x00FFFF } != nil)
      }
      try Self.capturing(ScreenSpecification(display: display.name, showsCursor: false)) { _, viewer in
        let picture = try #require(viewer.picture())
        #expect(picture.differences(from: pattern) == 0)
      }
      let region = ScreenSpecification.Region(x: 300, y: 230, width: 40, height: 20)
      try Self.capturing(ScreenSpecification(display: display.name, region: region)) { _, viewer in
        let picture = try #require(viewer.picture())
        #expect(picture.color(20, 10) == 0x00FFFF)
        #expect(picture.color(0, 0) == pattern(300, 230))
      }
    }

    @Test func `a screen that changes its size changes the format`() throws {
      let display = try TestDisplay("800x600x24")
      let painter = try TestPainter(display.name)
      try Self.capturing(ScreenSpecification(display: display.name, showsCursor: false)) { capturer, viewer in
        _ = try #require(viewer.picture())
        #expect(try Self.resizeScreen(painter, width: 640, height: 480))
        let picture = try #require(viewer.picture { $0.frame.format.width == 640 })
        #expect(picture.frame.format.height == 480)
        #expect(capturer.format == picture.frame.format)
        #expect(viewer.state.withLock { $0.formats } == [picture.frame.format])
      }
    }

    /// Lets RandR switch the only output off and make the screen smaller.
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
