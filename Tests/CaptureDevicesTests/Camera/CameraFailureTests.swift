import CaptureDevices
import Foundation
import TestSupport
import Testing

/// Cameras that stay connected and deliver nothing usable, and cameras that are disconnected again and again.
@Suite("Failures of a camera", .serialized)
struct CameraFailureTests {
  private func frames(_ probe: CameraProbe, _ count: Int) throws -> [ProbedFrame] {
    try probe.lines("frame", count).map(ProbedFrame.init)
  }

  @Test func `a camera whose buffers are all damaged is restarted, and nothing is reported when that helps`() throws {
    try CameraProbe.play(cameras: ["corrupt=10;cure=1"]) { probe in
      // Frames that reference buffers keep them.
      try probe.send("keep 3")
      try probe.send("start")
      let frames = try self.frames(probe, 30)
      #expect(frames.allSatisfy { $0.distance() == 0 })
      #expect(probe.all.count { $0.name == "skipped" } >= 10)
      #expect(!probe.all.contains { $0.name == "ended" })
      let released = try #require(try probe.send("keep 0").first { $0.name == "released" })
      #expect(released.words[0] == "3" && released.words[1].hasPrefix("235,128,128/210,16,146/"))
      _ = try self.frames(probe, 12)
    }
  }

  @Test(arguments: [
    ("corrupt=10;cure=2", "every frame of it is damaged"), ("phantom=10;cure=2", "frames that it does not deliver"),
  ]) func `a camera that a restart does not help is named with the reason, and reopened`(
    options: String, reason: String
  ) throws {
    try CameraProbe.play(cameras: [options]) { probe in
      try probe.send("start")
      _ = try self.frames(probe, 5)
      let ended = try probe.lines("ended", 1)[0]
      #expect(ended.description.contains(reason), "\(ended)")
      #expect(ended.description.contains("use another cable or USB port"))
      #expect(try self.frames(probe, 12).allSatisfy { $0.distance() == 0 })
      #expect(probe.all.count { $0.name == "ended" } == 1)
    }
  }

  @Test(arguments: [("error=1", "damaged"), ("short=1", "cut off")])
  func `a camera without a single usable frame is named with the reason`(options: String, reason: String) throws {
    try CameraProbe.play(cameras: [options]) { probe in
      try probe.send("start")
      let ended = try probe.lines("ended", 1)[0]
      #expect(ended.description.contains("every frame of it is \(reason)"), "\(ended)")
    }
  }

  @Test func `images that cannot be decoded are damaged too`() throws {
    let path = try TestMedia.path(
      "broken.mjpeg",
      bytes: Data((0..<4).flatMap { _ in [0xFF, 0xD8, 0xFF] + [UInt8](repeating: 0x55, count: 400) }))
    try CameraProbe.play(cameras: ["formats=MJPG 320x240 30;file=\(path)"]) { probe in
      try probe.send("start")
      let ended = try probe.lines("ended", 1)[0]
      #expect(ended.description.contains("every frame of it is damaged"), "\(ended)")
    }
  }

  @Test(arguments: [("slices", 0x65), ("parameter sets", 0x67)] as [(String, UInt8)])
  func `an H.264 camera that sends only garbage is restarted, reopened and named`(name: String, header: UInt8) throws {
    let unit: [UInt8] = [0, 0, 0, 1, 0x09, 0xF0, 0, 0, 0, 1, header] + [UInt8](repeating: 0x55, count: 400)
    let path = try TestMedia.path("garbage-\(header).h264", bytes: Data((0..<4).flatMap { _ in unit }))
    try CameraProbe.play(cameras: ["formats=H264 320x240 30;file=\(path)"]) { probe in
      try probe.send("start")
      let ended = try probe.lines("ended", 1)[0]
      #expect(ended.description.contains("every frame of it is damaged"), "\(ended)")
    }
  }

  @Test func `a device that is ready and has no buffer does not keep a core busy`() throws {
    // A restart does not help, and the camera is reopened after two and a half seconds.
    try CameraProbe.play(cameras: ["phantom=10"]) { probe in
      try probe.send("start")
      _ = try self.frames(probe, 10)
      func used() throws -> Int {
        let line = try #require(try probe.send("cpu").first { $0.name == "cpu" })
        return try #require(Int(line.words[0]))
      }
      let before = try used()
      #expect(probe.isSilent("frame", for: 1))
      // Milliseconds; a loop without a pause uses the whole second.
      #expect(try onQuietMachine(try used() - before < 150))
    }
  }

  @Test func `a camera that is unplugged again and again is back within two seconds each time`() throws {
    try CameraProbe.play(cameras: ["unplug=2;replug=0.5;unplugs=3"]) { probe in
      try probe.send("start")
      for _ in 0..<3 {
        _ = try self.frames(probe, 4)
        let ended = try probe.lines("ended", 1)[0]
        #expect(ended.description.contains("the camera was unplugged"))
        let began = ContinuousClock.now
        _ = try self.frames(probe, 1)
        // Half a second without a camera, and at most 2 s more.
        #expect(onQuietMachine(ContinuousClock.now - began < .seconds(2.5)))
      }
    }
  }

  @Test(arguments: [
    ("field=7", "V4L2_FIELD_ALTERNATE"), ("field=3", "V4L2_FIELD_BOTTOM"), ("field=5;planes=1", "V4L2_FIELD_SEQ_TB"),
  ]) func `single fields are refused`(options: String, name: String) throws {
    let probe = try CameraProbe(["play", "/dev/video0", "320", "240", "30"], cameras: [options])
    defer { probe.end() }
    let refusal = try #require(try probe.send("start").first { $0.name == "refused" })
    #expect(refusal.words.first == "unsupported")
    #expect(refusal.description.contains("it delivers single fields, not whole frames (\(name))"), "\(refusal)")
  }

  @Test(arguments: ["field=4", "field=3;weaves=1", "field=9"])
  func `interlaced frames are requested where a driver has no progressive ones`(options: String) throws {
    try CameraProbe.play(cameras: [options]) { probe in
      let started = try probe.start()
      #expect(started != nil)
      #expect(try self.frames(probe, 3).allSatisfy { $0.distance() == 0 })
    }
  }

  /// Luma of frames whose rows are 2 bytes a pixel, in each of which a bar of the first field is bright, and the next bar of the
  /// other field: both move on by two bars in each frame.
  private static func wovenBars(_ name: String, lumaAt: Int, first: Int) throws -> String {
    var frames: [UInt8] = []
    for number in 0..<4 {
      for y in 0..<240 {
        let bright = 2 * number + (y % 2 == first ? 0 : 1)
        for x in 0..<320 {
          let luma: UInt8 = x / 40 == bright ? 235 : 16
          frames += lumaAt == 0 ? [luma, 128] : [128, luma]
        }
      }
    }
    return try TestMedia.path(name, bytes: Data(frames))
  }

  @Test(arguments: [
    // The probe prints row 210, of the top field: with the bottom field first, it is predicted.
    ("YUYV", 0, 1, "field=9"), ("UYVY", 1, 1, "field=9"), ("YUYV", 0, 0, "field=8"), ("YUYV", 0, 0, "field=7;weaves=1"),
  ])
  func `interlaced frames show the first field alone`(fourCC: String, lumaAt: Int, first: Int, options: String) throws {
    let path = try Self.wovenBars("woven_\(fourCC)_\(first).raw", lumaAt: lumaAt, first: first)
    let camera = "formats=\(fourCC) 320x240 30;raw=\(path);lossless=1;\(options)"
    try CameraProbe.play(cameras: [camera]) { probe in
      #expect(try probe.start()?.prefix(2) == ["i420", "320x240"])
      for frame in try self.frames(probe, 9) {
        let bright = frame.bars.indices.filter { frame.bars[$0][0] > 128 }
        #expect(bright.count == 1 && bright[0] % 2 == 0, "\(frame.bars)")
      }
    }
  }

  @Test(arguments: [("", "i420"), (";speed=480", "i420"), (";speed=5000", "yuyv"), (";speed=12", "i420")])
  func `the speed of the USB connection decides whether uncompressed frames are preferred`(
    options: String, pixelFormat: String
  ) throws {
    // 1280 × 720 × 2 bytes × 30 are 55 MB/s.
    let camera = "formats=YUYV 1280x720 30|MJPG 1280x720 30;file=/nowhere\(options)"
    try CameraProbe.play(width: 1280, height: 720, cameras: [camera]) { probe in
      let started = try probe.start()
      #expect(started?.prefix(2) == [pixelFormat, "1280x720"])
    }
  }

  @Test(arguments: ["YUYV", "UYVY", "NV21", "422P", "BGR3", "GREY", "NV12", "NM12"])
  func `no byte behind the camera's memory is read`(fourCC: String) throws {
    // Rows that are no multiple of a vector, in frames that end with a page, behind which the simulated driver lets every
    // access fail. In full range libswscale converts all of them.
    let planes = fourCC == "NM12" ? ";planes=1" : ""
    let camera = "formats=\(fourCC) 32-1920/2x32-4096/8 30;guard=1;colorspace=7\(planes)"
    try CameraProbe.play(width: 62, height: 4096, cameras: [camera]) { probe in
      let started = try probe.start()
      #expect(started?.prefix(2).last == "62x4096")
      _ = try probe.lines("frame", 2)
    }
  }

  @Test func `a format that cannot be converted is not chosen`() throws {
    try CameraProbe.play(cameras: ["formats=NV16 320x240 30|YUYV 320x240 30"]) { probe in
      let started = try probe.start()
      #expect(started?.prefix(2) == ["yuyv", "320x240"])
    }
  }
}
