import FakeCamera
import Foundation
import Testing

extension EndToEnd {
  /// A preloaded library simulates the cameras for the unchanged release program.
  @Suite("Cameras, simulated at the V4L2 system calls")
  struct Cameras {
    /// Luma of the fake camera's bars, in the full range of ffmpeg's "gray": (235 - 16) * 255 / 219 and so on.
    private static let bars = [255, 226, 179, 150, 105, 76, 29, 0]

    static func serving<Result>(
      _ cameras: [String], source: String = "v4l2:/dev/video0", options: [String] = [],
      _ body: (VidiconProcess) async throws -> Result
    ) async throws -> Result {
      try await VidiconProcess.serving(
        ["--source", source, "--audio", "none", "--size", "320x240", "--fps", "30"] + options,
        environment: FakeCamera.environment(cameras), body)
    }

    private static let formats = [
      "formats=YUYV 320x240 30", "formats=NM12 320x240 30;planes=1", "formats=YU12 320x240 30;stride=64",
      "formats=UYVY 320x240 30", "formats=RGB3 320x240 30", "formats=YUYV 320x240 30;count=2",
      "formats=YUYV 320x240 30;jump=7", "formats=YUYV 320x240 30;short=10;error=15",
    ]

    /// One program per camera, all at once.
    @Test(.tags(.demanding)) func `each pixel format and buffer layout shows the camera's bars`() async throws {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for camera in Self.formats { group.addTask { try await Self.expectBars(from: camera) } }
        try await group.waitForAll()
      }
    }

    private static func expectBars(from camera: String) async throws {
      try await Self.serving([camera]) { vidicon in
        let play = try await FFmpeg.play(vidicon.url(), seconds: 4, audio: false)
        #expect(play.run.exit == .status(0), "\(camera): ffmpeg: \(play.run.errors)")
        #expect(FFmpeg.complaints(in: play.run.errors) == [], "\(camera)")
        try #require(play.frames.count > 60, "\(camera)")
        let last = Array(play.frames[play.frames.count - 1])
        let seen = (0..<8).map { Int(last[70 * 160 + $0 * 20 + 10]) }
        #expect(zip(seen, Self.bars).allSatisfy { abs($0 - $1) < 5 }, "\(camera): \(seen)")
        let steps = zip(play.times.dropFirst(), play.times).map { $0 - $1 }
        #expect(try #require(steps.min()) > 0, "\(camera)")
        #expect(try #require(steps.max()) < 0.5, "\(camera)")
      }
    }

    /// Rows that are no multiple of a vector, in frames that end with a page, behind which the simulated driver lets every access
    /// fail. In limited range the frames are lent to the stream, which converts, scales, rotates and mirrors them.
    @Test(.tags(.demanding), arguments: ["62x4096", "320x240"])
    func `no byte behind memory that a camera lends is read`(size: String) async throws {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for format in ["YUYV", "NV12", "XR24", "YU12"] {
          group.addTask { try await Self.expectFrames(from: "formats=\(format) 62x4096 30;guard=1", size: size) }
        }
        try await group.waitForAll()
      }
    }

    /// Expects frames in every orientation.
    private static func expectFrames(from camera: String, size: String) async throws {
      let options = ["--source", "v4l2:/dev/video0", "--audio", "none", "--size", size, "--fps", "10"]
      try await VidiconProcess.serving(options, environment: FakeCamera.environment([camera])) { vidicon in
        for (isMirrored, rotation) in [(false, 0), (true, 0), (false, 90), (true, 180), (true, 270)] {
          let patch = #"{"mirror":\#(isMirrored),"rotation":\#(rotation)}"#
          let answer = try await LiveControl.send("PATCH", patch, to: vidicon.page("/api/streams/live"))
          #expect(answer.status == 200, "\(camera), \(patch): \(answer.text)")
          let before = try await vidicon.status { _ in true }
          _ = try await vidicon.status {
            $0.isSlateShown == false && $0.framesEncoded ?? 0 > (before.framesEncoded ?? 0) + 3
          }
        }
      }
    }

    @Test func `motion JPEG is decoded`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let path = "\(folder)/frames.mjpeg"
        let made = try await Tool.run(
          "ffmpeg",
          FFmpeg.quiet + ["-f", "lavfi", "-i", "testsrc2=s=320x240:r=30", "-frames:v", "60", "-c:v", "mjpeg"]
            + ["-q:v", "3", "-f", "image2pipe", path],
          within: .seconds(20))
        try #require(made.succeeded)
        try await Self.serving(["formats=MJPG 320x240 30;file=\(path)"]) { vidicon in
          let play = try await FFmpeg.play(vidicon.url(), seconds: 4, audio: false)
          #expect(FFmpeg.complaints(in: play.run.errors) == [])
          try #require(play.frames.count > 60)
          #expect(play.frames.deviation(30) > 20)
          #expect(play.frames.difference(20, 35) > 0.3)
        }
      }
    }

    @Test func `camera controls are set over HTTP`() async throws {
      struct State: Decodable {
        var controls: [String: Int]?
      }
      try await Self.serving(["controls=1"]) { vidicon in
        let address = vidicon.page("/api/streams/live")
        let first = try await Curl.get(address).json(State.self)
        #expect(first.controls?["brightness"] == 0)
        let set = try await LiveControl.send("PATCH", #"{"controls":{"brightness":12}}"#, to: address)
        #expect(set.status == 200, "\(set.text)")
        #expect(try set.json(State.self).controls?["brightness"] == 12)
        for (json, words) in [
          (#"{"controls":{"brightness":13}}"#, "steps of 2"), (#"{"controls":{"colour":1}}"#, "brightness"),
          (#"{"controls":{"camera-orientation":1}}"#, "only be read"),
        ] {
          let refused = try await LiveControl.send("PATCH", json, to: address)
          #expect(refused.status == 400 && refused.text.contains(words), "\(refused.text)")
        }
        let reset = try await LiveControl.send("PATCH", #"{"controls":{"brightness":null}}"#, to: address)
        #expect(try reset.json(State.self).controls?["brightness"] == 0)
      }
    }

    @Test func `a camera is reopened at another size, and at its previous size when that fails`() async throws {
      // The camera has one format at a time: it must be closed before it is reopened.
      try await Self.serving(["formats=YUYV 320x240,640x480 30|MJPG 640x480 30;file=/nowhere"]) { vidicon in
        let address = vidicon.page("/api/streams/live")
        for (source, status) in [
          ("v4l2:/dev/video0?size=640x480", 200), ("v4l2:/dev/video0?format=h264", 502), ("v4l2:Fake", 200),
        ] {
          _ = try await vidicon.status { $0.isSlateShown == false && $0.framesEncoded ?? 0 > 10 }
          let answer = try await LiveControl.send("PUT", #"{"video":"\#(source)"}"#, to: address + "/source")
          #expect(answer.status == status, "\(source): \(answer.text)")
          let present = try await Curl.get(address + "/source")
          let expected = status == 200 ? source : "v4l2:/dev/video0?size=640x480"
          #expect(present.text.contains(#""video":"\#(expected)""#), "\(present.text)")
          let before = try await vidicon.status { _ in true }
          _ = try await vidicon.status {
            $0.isSlateShown == false && $0.framesEncoded ?? 0 > (before.framesEncoded ?? 0) + 10
          }
        }
      }
    }

    @Test func `a paused camera is closed, and reopened on resume`() async throws {
      try await Self.serving(["formats=YUYV 320x240 30"]) { vidicon in
        let address = vidicon.page("/api/streams/live")
        _ = try await vidicon.status { $0.framesEncoded ?? 0 > 10 }
        for (method, json, path) in [
          ("PATCH", #"{"pause":true}"#, ""), ("PUT", #"{"video":"bars"}"#, "/source"),
          ("PUT", #"{"video":"v4l2:/dev/video0"}"#, "/source"), ("PATCH", #"{"pause":false}"#, ""),
        ] {
          let answer = try await LiveControl.send(method, json, to: address + path)
          #expect(answer.status == 200, "\(json): \(answer.text)")
        }
        let before = try await vidicon.status { _ in true }
        _ = try await vidicon.status {
          $0.isSlateShown == false && $0.framesEncoded ?? 0 > (before.framesEncoded ?? 0) + 10
        }
      }
    }

    @Test func `a camera that fails while plugged in is reopened`() async throws {
      try await Self.serving(["formats=YUYV 320x240 30;fail=60;fails=1"]) { vidicon in
        _ = try await vidicon.status { $0.framesIn ?? 0 > 120 && $0.isSlateShown == false }
        let lines = vidicon.child.errors.text.split(separator: "\n").filter { $0.contains("v4l2:") }
        #expect(lines.count == 1 && lines[0].contains("it delivers no more frames"), "\(lines)")
      }
    }

    @Test(arguments: ["/dev/video9", "/dev/video0"])
    func `an unplugged camera leaves a slate and one line, and is reopened when it is plugged in`(node: String)
      async throws
    {
      try await Self.serving(["unplug=3;replug=4;elsewhere=\(node)"]) { vidicon in
        _ = try await vidicon.status { $0.isSlateShown == true }
        // The line may be printed after the slate is shown.
        try await vidicon.child.complains("plug it in again", within: .seconds(30))
        let lines = vidicon.child.errors.text.split(separator: "\n").filter { $0.contains("v4l2:") }
        #expect(lines == ["vidicon: live: video: v4l2:/dev/video0: the camera was unplugged; plug it in again"])
        let before = try await vidicon.status { _ in true }
        _ = try await vidicon.status { $0.isSlateShown == false && ($0.framesIn ?? 0) > (before.framesIn ?? 0) }
        // The line may be printed after the first frame is counted.
        try await vidicon.child.complains("the video source is back", within: .seconds(30))
        #expect(vidicon.child.errors.text.split(separator: "\n").count { $0.contains("unplugged") } == 1)
      }
    }

    // Each also ends in time: Ctrl-C has two seconds.
    @Test(arguments: ["unplug=2", "after=20", "hang=60"])
    func `a failing camera leaves a slate, and does not delay the exit`(camera: String) async throws {
      try await Self.serving([camera]) { vidicon in
        _ = try await vidicon.status { $0.isSlateShown == true }
        // The line may be printed after the slate is shown.
        _ = try await vidicon.status { _ in true }
        let lines = vidicon.child.errors.text.split(separator: "\n")
        #expect(lines.count == 1 && lines[0].hasPrefix("vidicon: live: "), "\(lines)")
      }
    }

    @Test(arguments: [("error=1", "every frame of it is damaged"), ("empty=1", "every frame of it is cut off")])
    func `a camera that delivers nothing usable is named with its reason`(camera: String, reason: String) async throws {
      try await Self.serving([camera]) { vidicon in
        _ = try await vidicon.status { $0.isSlateShown == true }
        try await vidicon.child.complains(reason, within: .seconds(30))
        let lines = vidicon.child.errors.text.split(separator: "\n").filter { $0.contains("v4l2:") }
        #expect(lines.count == 1, "\(vidicon.child.errors.text)")
        #expect(lines.first?.hasPrefix("vidicon: live: video: v4l2:/dev/video0: \(reason); use another cable") == true)
      }
    }

    @Test(arguments: [
      ("open=13", "v4l2:/dev/video0", "sudo usermod -aG video "), ("start=16", "v4l2:/dev/video0", "it is in use"),
      ("open=16", "v4l2:", "it is in use"), ("kind=m2m", "v4l2:/dev/video0", "a codec or scaler"),
      ("kind=metadata", "v4l2:", "there is no camera"), ("", "v4l2:/dev/video7", "there is no camera at /dev/video7"),
      ("", "v4l2:other", "/dev/video0 (Fake Camera"), ("lie=1", "v4l2:fake", "buffers are too small"),
    ]) func `an unusable camera is reported in one line`(camera: String, source: String, words: String) async throws {
      try await expectRefusal(
        ["serve"] + VidiconProcess.freePorts + ["--source", source],
        environment: FakeCamera.environment([camera]), status: 1, saying: words)
    }

    @Test func `invalid camera options are reported in one line`() async throws {
      try await expectRefusal(
        ["serve", "--rtsp-port", "0", "--source", "v4l2:?colour=1"], status: 64,
        saying: "use size, fps, format or input")
    }
  }
}
