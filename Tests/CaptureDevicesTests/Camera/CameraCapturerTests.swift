import Capture
import CaptureDevices
import Foundation
import TestSupport
import Testing

/// Runs the capturer in a program of its own, with cameras simulated by a preloaded library.
@Suite("Camera capturer", .serialized)
struct CameraCapturerTests {
  private func frames(_ probe: CameraProbe, _ count: Int) throws -> [ProbedFrame] {
    try probe.lines("frame", count).map(ProbedFrame.init)
  }

  @Test(arguments: [
    ("YUYV", "yuyv", ""), ("NV12", "nv12", ""), ("YU12", "i420", ""), ("YV12", "i420", ""), ("UYVY", "i420", ""),
    ("RGB3", "rgb24", ""), ("XR24", "bgra", ""), ("BGR3", "i420", ""), ("NV12", "nv12", ";planes=1"),
    ("NM12", "nv12", ";planes=1"), ("YUYV", "yuyv", ";stride=64"), ("NV12", "nv12", ";stride=32"),
    ("YU12", "i420", ";stride=64"), ("NM12", "nv12", ";planes=1;stride=32"), ("UYVY", "i420", ";stride=64"),
    ("YUYV", "yuyv", ";count=2"), ("NM12", "nv12", ";planes=1;stride=32;count=2"),
    ("YV12", "i420", ";stride=64;count=2"),
  ]) func `frames of every pixel format have the right colors, numbers and times`(
    fourCC: String, pixelFormat: String, options: String
  ) throws {
    try CameraProbe.play(cameras: ["formats=\(fourCC) 320x240 30\(options)"]) { probe in
      let started = try probe.start()
      #expect(started?.prefix(3) == [pixelFormat, "320x240", "30"])
      let frames = try self.frames(probe, 6)
      let colors = ["rgb24", "bgra"].contains(pixelFormat) ? ProbedFrame.rgb : ProbedFrame.colors
      // Conversion from RGB rounds.
      for frame in frames { #expect(frame.distance(from: colors) <= (fourCC == "BGR3" ? 2 : 0), "\(frame)") }
      #expect(zip(frames, frames.dropFirst()).allSatisfy { $0.number < $1.number && $0.microseconds < $1.microseconds })
      #expect(frames.allSatisfy { $0.pixelFormat == pixelFormat && $0.latency >= 0 })
      #expect(onQuietMachine(frames.allSatisfy { $0.latency < 1_000_000 }))
    }
  }

  @Test func `a consumer that holds frames does not starve the camera`() throws {
    try CameraProbe.play(cameras: [""]) { probe in
      try probe.send("keep 100")
      try probe.send("start")
      // Frames in the camera's memory, then copies until the pool is exhausted; later frames are skipped.
      let frames = try self.frames(probe, 10)
      #expect(Set(frames.map(\.number)).count == 10)
      #expect(frames.allSatisfy { $0.distance() == 0 })
      _ = try probe.lines("skipped", 3)
      try probe.send("keep 0")
      _ = try self.frames(probe, 5)
    }
  }

  @Test func `frames outlive the camera`() throws {
    try CameraProbe.play(cameras: ["unplug=2"]) { probe in
      try probe.send("keep 4")
      try probe.send("start")
      _ = try self.frames(probe, 4)
      _ = try probe.lines("ended", 1)
      try probe.send("stop")
      let released = try #require(try probe.send("keep 0").first { $0.name == "released" })
      #expect(released.words[0] == "4")
      #expect(released.words[1].hasPrefix("235,128,128/210,16,146/"))
    }
  }

  @Test(arguments: [false, true]) func `JPEG images are decoded, also without Huffman tables`(withoutTables: Bool)
    throws
  {
    // ffmpeg writes full range, as in all JPEG files.
    var path = try TestMedia.path(
      "bars.mjpeg",
      [
        "-f", "lavfi", "-i", "smptebars=s=320x240:r=30", "-frames:v", "12", "-q:v", "2", "-huffman", "default", "-f",
        "image2pipe", "-c:v", "mjpeg",
      ])
    let reference = try Self.decodedBars(path)
    if withoutTables { path = try Self.withoutHuffmanTables(path) }
    try CameraProbe.play(cameras: ["formats=MJPG 320x240 30;file=\(path)"]) { probe in
      let started = try probe.start()
      #expect(started?.prefix(2) == ["i420", "320x240"])
      let frame = try self.frames(probe, 3)[2]
      #expect(frame.distance(from: reference) <= 3, "\(frame) instead of \(reference)")
    }
  }

  @Test func `damaged JPEG images are skipped, and another size than announced is adopted`() throws {
    let path = try TestMedia.path(
      "large.mjpeg",
      ["-f", "lavfi", "-i", "smptebars=s=640x480:r=30", "-frames:v", "4", "-f", "image2pipe", "-c:v", "mjpeg"])
    try CameraProbe.play(cameras: ["formats=MJPG 320x240 30;file=\(path);short=5"]) { probe in
      try probe.send("start")
      let frames = try self.frames(probe, 12)
      // The first images of another size are scaled.
      #expect(frames.map(\.size) == Array(repeating: "320x240", count: 2) + Array(repeating: "640x480", count: 10))
      #expect(probe.all.count { $0.name == "format" } == 1)
      #expect(probe.all.count { $0.name == "skipped" } >= 2)
    }
  }

  /// The same images without their DHT segments (ITU-T T.81 §B.2.4.2), as many cameras deliver them.
  private static func withoutHuffmanTables(_ path: String) throws -> String {
    let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    var stripped: [UInt8] = []
    var index = 0
    while index < bytes.count {
      if index + 4 <= bytes.count, bytes[index] == 0xFF, bytes[index + 1] == 0xC4 {
        index += 2 + Int(bytes[index + 2]) << 8 + Int(bytes[index + 3])
      } else {
        stripped.append(bytes[index])
        index += 1
      }
    }
    try #require(stripped.count < bytes.count)
    return try TestMedia.path("stripped.mjpeg", bytes: Data(stripped))
  }

  /// The samples that the probe prints, from ffmpeg's decoding of the first image.
  private static func decodedBars(_ path: String) throws -> [[Int]] {
    let raw = try TestMedia.path(
      "\(URL(fileURLWithPath: path).lastPathComponent).yuv",
      [
        "-f", "mjpeg", "-i", path, "-frames:v", "1", "-vf", "scale=in_range=full:out_range=limited", "-pix_fmt",
        "yuv420p", "-f", "rawvideo",
      ])
    let bytes = try Data(contentsOf: URL(fileURLWithPath: raw))
    return (0..<8).map { bar in
      let (x, y) = ((2 * bar + 1) * 20, 210)
      return [y * 320 + x, 76_800 + y / 2 * 160 + x / 2, 96_000 + y / 2 * 160 + x / 2].map { Int(bytes[$0]) }
    }
  }

  @Test func `H.264 access units are passed on from the first keyframe on`() throws {
    let path = try TestMedia.path(
      "camera.h264",
      [
        "-f", "lavfi", "-i", "testsrc=s=320x240:r=30", "-frames:v", "30", "-c:v", "libx264", "-g", "10", "-bf", "0",
        "-pix_fmt", "yuv420p", "-bsf:v", "h264_metadata=aud=insert", "-f", "h264",
      ])
    try CameraProbe.play(cameras: ["formats=H264 320x240 30;file=\(path);error=25;lossless=1"]) { probe in
      try probe.send("start")
      let samples = try probe.lines("sample", 40)
      #expect(samples[0].words[1] == "key" && samples[1].words[1] == "delta")
      #expect(samples.allSatisfy { $0.words[3] == "320x240" })
      let times = samples.compactMap { Int($0.words[0]) }
      #expect(times.count == 40 && zip(times, times.dropFirst()).allSatisfy { $0 < $1 })
      // Every 25th access unit is damaged; those up to the next keyframe are skipped too.
      let lines = probe.all.filter { ["sample", "skipped"].contains($0.name) }
      let loss = try #require(lines.firstIndex { $0.name == "skipped" })
      let next = try #require(lines[loss...].first { $0.name == "sample" })
      #expect(next.words[1] == "key")
    }
  }

  @Test func `a requested keyframe comes at once`() throws {
    let path = try TestMedia.path(
      "long-group.h264",
      [
        "-f", "lavfi", "-i", "testsrc=s=320x240:r=30", "-frames:v", "600", "-c:v", "libx264", "-preset", "ultrafast",
        "-g", "600", "-bf", "0", "-sc_threshold", "0", "-pix_fmt", "yuv420p", "-bsf:v", "h264_metadata=aud=insert",
        "-f", "h264",
      ])
    try CameraProbe.play(cameras: ["formats=H264 320x240 30;file=\(path);lossless=1"]) { probe in
      try probe.send("start")
      let first = try probe.lines("sample", 20).map { $0.words[1] }
      #expect(first == ["key"] + Array(repeating: "delta", count: 19))
      // The keyframe may be printed before the command is done.
      let during = try probe.send("keyframe").filter { $0.name == "sample" }
      let next = (during + (try probe.lines("sample", 20))).map { $0.words[1] }
      #expect(next.count { $0 == "key" } == 1, "\(next)")
    }
  }

  @Test(arguments: [
    ("short=4", 1), ("error=4", 1), ("empty=4", 1), ("lost=4", 2), ("planes=1;formats=NM12 320x240 30;short=4", 1),
  ]) func `damaged and lost frames are reported, and the capture continues`(options: String, skips: Int) throws {
    try CameraProbe.play(cameras: [options]) { probe in
      try probe.send("start")
      let frames = try self.frames(probe, 12)
      #expect(frames.allSatisfy { $0.distance() == 0 })
      #expect(probe.all.count { $0.name == "skipped" } >= 2 * skips)
      #expect(!probe.all.contains { $0.name == "ended" })
    }
  }

  @Test(arguments: ["jump=4", "clock=copy", ""]) func `timestamps increase steadily whatever the camera reports`(
    options: String
  )
    throws
  {
    try CameraProbe.play(cameras: [options]) { probe in
      try probe.send("start")
      let frames = try self.frames(probe, 20)
      let steps = zip(frames.dropFirst(), frames).map { $0.microseconds - $1.microseconds }
      #expect(steps.allSatisfy { $0 > 0 }, "\(steps)")
      #expect(frames.allSatisfy { $0.latency >= -2000 })
      #expect(onQuietMachine(steps.allSatisfy { $0 < 1_000_000 }), "\(steps)")
      #expect(onQuietMachine(frames.allSatisfy { $0.latency < 1_000_000 }))
    }
  }

  @Test func `a camera that is unplugged is reported once, and captured again when it is back`() throws {
    try CameraProbe.play(cameras: ["unplug=0.5;replug=1"]) { probe in
      try probe.send("start")
      let ended = try probe.lines("ended", 1)[0]
      #expect(ended.description.hasSuffix("the camera was unplugged; plug it in again"))
      let again = try self.frames(probe, 3)
      let before = try #require(probe.all.last { $0.name == "frame" && $0 != probe.all.last })
      #expect(again.allSatisfy { $0.distance() == 0 } && before.name == "frame")
      #expect(probe.all.count { $0.name == "ended" } == 1)
      let stopped = try #require(try probe.send("stop").first { $0.name == "stopped" })
      #expect(try onQuietMachine(try #require(Int(stopped.words[0])) < 1000))
    }
  }

  @Test func `a camera that fails while connected is reopened, even while its frames are held`() throws {
    try CameraProbe.play(cameras: ["fail=10;fails=1"]) { probe in
      try probe.send("keep 3")
      try probe.send("start")
      let ended = try probe.lines("ended", 1)[0]
      #expect(ended.description.contains("it delivers no more frames"))
      let again = try self.frames(probe, 12)
      #expect(again.allSatisfy { $0.distance() == 0 })
      let released = try #require(try probe.send("keep 0").first { $0.name == "released" })
      #expect(released.words[0] == "3" && released.words[1].hasPrefix("235,128,128/210,16,146/"))
    }
  }

  @Test func `a camera can be restarted while its frames are held`() throws {
    try CameraProbe.play(cameras: [""]) { probe in
      try probe.send("keep 3")
      for _ in 0..<3 {
        let started = try probe.start()
        #expect(started != nil)
        _ = try self.frames(probe, 4)
        try probe.send("stop")
      }
    }
  }

  @Test func `a camera that always fails is shown and reported twice`() throws {
    try CameraProbe.play(cameras: ["fail=4"]) { probe in
      try probe.send("start")
      _ = try probe.lines("ended", 2)
      // Meanwhile the camera is reopened after 0.8 s, 1.6 s and 3.2 s.
      let isSilent = probe.isSilent("ended", for: 5)
      #expect(isSilent)
      #expect(probe.all.count { $0.name == "frame" } == 8)
    }
  }

  @Test func `a connected camera that can no longer be opened is reported once`() throws {
    try CameraProbe.play(cameras: ["fail=4;again=16"]) { probe in
      try probe.send("start")
      let ended = try probe.lines("ended", 2)
      #expect(ended[0].description.contains("it delivers no more frames"))
      #expect(ended[1].description.contains("it is in use"))
      let isSilent = probe.isSilent("ended", for: 4)
      #expect(isSilent)
    }
  }

  @Test(arguments: ["/dev/video0", "fake", ""]) func `a camera is found again at another node`(name: String) throws {
    try CameraProbe.play(name, cameras: ["unplug=0.5;replug=0.7;elsewhere=/dev/video9"]) { probe in
      try probe.send("start")
      _ = try probe.lines("ended", 1)
      let began = ContinuousClock.now
      _ = try self.frames(probe, 1)
      // 0.7 s without a camera, and at most 2 s more.
      #expect(onQuietMachine(ContinuousClock.now - began < .seconds(2.7)))
    }
  }

  @Test func `another camera is not mistaken for the lost one`() throws {
    try CameraProbe.play(cameras: ["unplug=0.5", "card=Other;path=/dev/video1"]) { probe in
      try probe.send("start")
      _ = try probe.lines("ended", 1)
      let isSilent = probe.isSilent("frame", for: 2)
      #expect(isSilent)
    }
  }

  @Test func `stop does not wait for a device that hangs`() throws {
    try CameraProbe.play(cameras: ["hang=3"]) { probe in
      try probe.send("start")
      _ = try self.frames(probe, 9)
      let stopped = try #require(try probe.send("stop").first { $0.name == "stopped" })
      #expect(try onQuietMachine(try #require(Int(stopped.words[0])) < 1000))
      let isSilent = probe.isSilent("frame", for: 4)
      #expect(isSilent)
    }
  }

  @Test(arguments: [("after=5", "frame", 5), ("unplug=0.3", "ended", 1)])
  func `stop does not wait for frames`(options: String, last: String, count: Int) throws {
    try CameraProbe.play(cameras: [options]) { probe in
      try probe.send("start")
      _ = try probe.lines(last, count)
      let stopped = try #require(try probe.send("stop").first { $0.name == "stopped" })
      #expect(try onQuietMachine(try #require(Int(stopped.words[0])) < 500))
    }
  }

  @Test(arguments: [
    ("/dev/video0", "open=13", "notPermitted", CurrentUser.nextStep(joining: "video")),
    ("/dev/video0", "open=16", "notPermitted", "it is in use by another program"),
    ("/dev/video0", "format=16", "notPermitted", "it is in use by another program"),
    ("/dev/video0", "buffers=16", "notPermitted", "it is in use by another program"),
    ("/dev/video0", "start=16", "notPermitted", "it is in use by another program"),
    ("/dev/video0", "start=28", "failed", "a smaller size"),
    ("/dev/video0", "kind=metadata", "notFound", "the metadata node of one"),
    ("/dev/video0", "kind=output", "notFound", "a video output"),
    ("/dev/video0", "kind=m2m", "notFound", "a codec or scaler"),
    ("/dev/video0", "kind=read", "notFound", "only read() captures from"),
    ("/dev/video0", "kind=none", "notFound", "/dev/video0 is not a camera"),
    ("/dev/video0", "lie=1", "invalidData", "its buffers are too small"),
    ("/dev/video0", "formats=pBAA 320x240 30", "invalidData", "none of its pixel formats is supported (pBAA)"),
    ("/dev/video5", "", "notFound", "there is no camera at /dev/video5"),
    ("/dev/null", "", "notFound", "/dev/null is not a camera"),
    ("/dev", "", "notFound", "/dev is not a camera"),
    ("/dev/video0?format=h264", "", "invalidSpecification", "it offers YUYV"),
    ("/dev/video0?input=2", "", "invalidSpecification", "use 0 (Camera), 1 (HDMI)"),
    ("other", "", "notFound", "choose one of: /dev/video0 (Fake Camera, usb-0000:00:14.0-1)"),
    ("", "kind=m2m", "notFound", "there is no camera"),
    ("?size=0x0", "", "invalidSpecification", "is no size"),
  ]) func `each failure has its code and one line`(
    specification: String, options: String, code: String, text: String
  ) throws {
    let probe = try CameraProbe(["play", specification, "320", "240", "30"], cameras: [options])
    defer { probe.end() }
    let line =
      specification.hasPrefix("?")
      ? try probe.lines("refused", 1).first : try probe.send("start").first { $0.name == "refused" }
    let refusal = try #require(line)
    #expect(refusal.words.first == code)
    #expect(refusal.description.contains(text), "\(refusal)")
  }

  @Test func `the first camera that opens is used, and ambiguous names are refused`() throws {
    let cameras = ["card=Busy;start=16", "card=Webcam A", "card=Webcam B"]
    try CameraProbe.play("", cameras: cameras) { probe in
      let started = try probe.start()
      #expect(started != nil)
    }
    try CameraProbe.play("webcam b", cameras: cameras) { probe in
      let started = try probe.start()
      #expect(started != nil)
    }
    try CameraProbe.play("webcam", cameras: cameras) { probe in
      let refused = try #require(try probe.send("start").first { $0.name == "refused" })
      #expect(refused.description.contains("2 cameras have this name: /dev/video1 (Webcam A"))
    }
  }

  @Test func `endless enumerations are cut off, and ranges of sizes and rates are used`() throws {
    try CameraProbe.play(cameras: ["endless=1;controls=1"]) { probe in
      let started = try probe.start()
      #expect(started != nil)
      let controls = try probe.send("controls")
      #expect(controls.count { $0.name == "control" } == 6)
    }
    try CameraProbe.play(
      "?size=500x333&fps=12", cameras: ["formats=YUYV 32-1920/16x32-1080/8 5-60"]
    ) { probe in
      let started = try probe.start()
      #expect(started?.prefix(3) == ["yuyv", "512x336", "12"])
    }
  }

  @Test func `controls are listed, set, and restored after a reconnection`() throws {
    try CameraProbe.play(cameras: ["controls=1;unplug=4;replug=0.5;rotation=90;facing=1"]) { probe in
      try probe.send("start")
      #expect(
        try probe.send("controls").filter { $0.name == "control" }.map(\.description) == [
          #"control brightness integer -64 64 2 0 0 "" """#,
          #"control power-line-frequency menu 0 2 1 1 1 "0=Disabled,1=50 Hz,2=60 Hz" """#,
          #"control focus-absolute integer 0 250 5 0 0 "" "i""#,
          #"control focus-automatic-continuous boolean 0 1 1 1 1 "" """#,
          #"control camera-orientation menu 0 2 1 0 1 "0=Front,1=Back,2=External" "r""#,
          #"control camera-sensor-rotation integer 0 270 90 0 90 "" "r""#,
        ])
      #expect(try self.frames(probe, 1)[0].orientation == 270)
      let brightness = try probe.send("set brightness 12")
      #expect(brightness.first { $0.name == "set" } != nil)
      let focus = try probe.send("set focus-automatic-continuous 0")
      #expect(focus.first { $0.name == "set" } != nil)
      for (command, text) in [
        ("set brightness 13", "use -64 to 64 in steps of 2"), ("set brightness 99", "use -64 to 64 in steps of 2"),
        ("set colour 1", "use one of brightness, power-line-frequency"),
        ("set power-line-frequency 7", "use 0 (Disabled), 1 (50 Hz), 2 (60 Hz)"),
        ("set camera-orientation 0", "can only be read"), ("set focus-automatic-continuous 2", "use 0 or 1"),
      ] {
        let refused = try #require(try probe.send(command).first { $0.name == "refused" })
        #expect(refused.description.contains(text))
      }
      _ = try probe.lines("ended", 1)
      _ = try self.frames(probe, 1)
      let controls = try probe.send("controls").filter { $0.name == "control" }
      #expect(controls.first { $0.words[0] == "brightness" }?.words[6] == "12")
    }
  }

  @Test func `the position is the one that the driver reports`() throws {
    for (facing, position) in ["front", "back", "external"].enumerated() {
      try CameraProbe.play(cameras: ["controls=1;facing=\(facing)"]) { probe in
        let started = try probe.start()
        #expect(started?.last == position)
      }
    }
    try CameraProbe.play(cameras: [""]) { probe in
      let started = try probe.start()
      #expect(started?.last == "unspecified")
    }
  }

  @Test func `50 starts leave no descriptor, thread or memory`() throws {
    let path = try TestMedia.path(
      "small.mjpeg",
      ["-f", "lavfi", "-i", "testsrc=s=320x240:r=30", "-frames:v", "4", "-f", "image2pipe", "-c:v", "mjpeg"])
    for camera in ["formats=YUYV 320x240 60", "formats=MJPG 320x240 60;file=\(path)", "start=16"] {
      try CameraProbe.play(cameras: [camera]) { probe in
        func cycle() throws {
          if try probe.start() != nil { _ = try self.frames(probe, 1) }
          try probe.send("stop")
        }
        /// The numbers of descriptors, threads and buffers.
        func resources() throws -> [Int] {
          let line = try #require(try probe.send("resources").first { $0.name == "resources" })
          return line.words.compactMap { Int($0) }
        }
        for _ in 0..<3 { try cycle() }
        let before = try resources()
        #expect(before.count == 3 && before.last == 0)
        for _ in 0..<50 { try cycle() }
        // The system lists a thread for a moment after it was joined.
        let end = ContinuousClock.now + .seconds(300)
        var after = try resources()
        while zip(after, before).contains(where: { $0 > $1 }), ContinuousClock.now < end { after = try resources() }
        #expect(after.count == 3 && zip(after, before).allSatisfy { $0 <= $1 }, "\(before) before, \(after) now")
      }
    }
  }
}
