import FakeCamera
import Foundation
import Testing

extension EndToEnd {
  /// Two streams of one program, or one camera of a private stream.
  @Suite("Sources that a stream shows with privacy")
  struct SourcePrivacy {
    private static func put(_ path: String, _ json: String, _ vidicon: VidiconProcess) async throws -> Curl {
      try await LiveControl.send("PUT", json, to: vidicon.page("/api/streams/\(path)"))
    }

    /// The JPEG image of the current frame.
    private static func snapshot(_ stream: String, _ vidicon: VidiconProcess, in folder: String) async throws
      -> FaceClip
    {
      let path = "\(folder)/\(UUID().uuidString).jpg"
      _ = try await Curl.get(vidicon.page("/\(stream)/snapshot.jpg"), ["--output", path])
      return try await FaceClip(path)
    }

    /// Waits until frames of after this call are shown: those of a private round, and of an encoder's queue, are from before.
    private static func waitForFrames(of stream: String, _ vidicon: VidiconProcess) async throws {
      let count = try await vidicon.status(of: stream) { _ in true }.framesEncoded ?? 0
      _ = try await vidicon.status(of: stream) { ($0.framesEncoded ?? 0) > count + FaceClip.frameRate }
    }

    @Test func `a camera is refused to other streams under each of its names, and no other camera is`() async throws {
      let environment = try FakeCamera.environment([
        "card=Hall Camera;bus=usb-0000:00:14.0-1;formats=YUYV 320x240 30",
        "card=Desk Camera;bus=usb-0000:00:14.0-2;formats=YUYV 320x240 30",
      ])
      let streams = ["--stream", "name=hall,source=v4l2:Hall,faces=privacy", "--stream", "name=door,source=bars"]
      try await VidiconProcess.serving(
        ["--audio", "none", "--size", "320x240"] + streams, environment: environment
      ) { vidicon in
        for name in ["v4l2:/dev/video0", "v4l2:Hall Camera", "v4l2:Hall?fps=15", "v4l2:usb-0000:00:14.0-1"] {
          let answer = try await Self.put("door/source", #"{"video":"\#(name)"}"#, vidicon)
          #expect(answer.status == 403 && answer.text.contains("hall"), "\(name): \(answer.status) \(answer.text)")
        }
        #expect(try await Self.put("door/source", #"{"video":"v4l2:/dev/video1"}"#, vidicon).status == 200)
      }
    }

    @Test(.tags(.demanding)) func `a film that two streams show is covered in both once one of them has privacy`()
      async throws
    {
      try await TestMedia.withTemporaryFolder { folder in
        // One file under two names.
        let (film, link) = ("\(folder)/film.mp4", "\(folder)/link.mp4")
        try FileManager.default.copyItem(atPath: TestMedia.file("single_face.mp4"), toPath: film)
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: film)
        let streams = ["--stream", "name=hall,source=file:\(film)", "--stream", "name=door,source=file:\(link)"]
        let options = ["--audio", "none", "--fps", "\(FaceClip.frameRate)", "--files", folder]
        try await VidiconProcess.serving(options + streams) { vidicon in
          let isShown: @Sendable (String) async throws -> [Bool] = { stream in
            try await Self.snapshot(stream, vidicon, in: folder).brightest.map { $0 >= 60 }
          }
          for stream in ["hall", "door"] { #expect(try await isShown(stream) == [true]) }
          #expect(try await Self.put("hall/effects", #"{"faces":"privacy"}"#, vidicon).status == 200)
          for _ in 0..<5 { for stream in ["hall", "door"] { #expect(try await isShown(stream) == [false]) } }
          // A number of frames: two private streams on a busy machine have fewer of them in a second.
          let clip = try await FaceClip(vidicon.url("door"), frameCount: 30).brightest
          #expect(clip.count == 30 && clip.allSatisfy { $0 < 60 }, "\(clip)")
          // Leaving the source is allowed, returning to it is not, by whichever name.
          #expect(try await Self.put("door/source", #"{"video":"bars"}"#, vidicon).status == 200)
          for name in [film, link] {
            let answer = try await Self.put("door/source", #"{"video":"file:\#(name)"}"#, vidicon)
            #expect(answer.status == 403 && answer.text.contains("hall"), "\(answer.status) \(answer.text)")
          }
          #expect(try await Self.put("hall/effects", #"{"faces":"off"}"#, vidicon).status == 200)
          #expect(try await Self.put("door/source", #"{"video":"file:\#(link)"}"#, vidicon).status == 200)
          for stream in ["hall", "door"] {
            try await Self.waitForFrames(of: stream, vidicon)
            for _ in 0..<3 { #expect(try await isShown(stream) == [true], "\(stream)") }
          }
        }
      }
    }

    @Test(.tags(.demanding)) func `no rotation, mirroring or control of its camera shows the face of a private stream`()
      async throws
    {
      try await TestMedia.withTemporaryFolder { folder in
        let frames = "\(folder)/frames.mjpeg"
        let made = try await Tool.run(
          "ffmpeg",
          FFmpeg.quiet + ["-i", try TestMedia.file("single_face.mp4"), "-an", "-c:v", "mjpeg", "-q:v", "3"]
            + ["-pix_fmt", "yuvj422p", "-f", "image2pipe", frames],
          within: .seconds(30))
        try #require(made.succeeded, "\(made.errors)")
        let environment = try FakeCamera.environment(["formats=MJPG 640x360 30;controls=1;file=\(frames)"])
        let options = ["--source", "v4l2:", "--audio", "none", "--size", "640x360", "--fps", "\(FaceClip.frameRate)"]
        try await VidiconProcess.serving(options, environment: environment) { vidicon in
          #expect(try await Self.snapshot("live", vidicon, in: folder).brightest.allSatisfy { $0 >= 60 })
          #expect(try await Self.put("live/effects", #"{"faces":"privacy"}"#, vidicon).status == 200)
          for (json, columns, rows) in [
            (#"{"rotation":180}"#, -1, -1), (#"{"mirror":true}"#, 1, -1), (#"{"rotation":0}"#, -1, 1),
            (#"{"mirror":false,"controls":{"brightness":12}}"#, 1, 1), (#"{"controls":{"brightness":null}}"#, 1, 1),
          ] {
            let answer = try await LiveControl.send("PATCH", json, to: vidicon.page("/api/streams/live"))
            #expect(answer.status == 200, "\(json): \(answer.text)")
            for _ in 0..<4 {
              let image = try await Self.snapshot("live", vidicon, in: folder).turned(columns: columns, rows: rows)
              #expect(image.brightest.allSatisfy { $0 < 60 }, "\(json): \(image.brightest)")
            }
          }
          // The judge sees a face that is turned.
          let shown = try await LiveControl.send(
            "PUT", #"{"faces":"off"}"#, to: vidicon.page("/api/streams/live/effects"))
          let turned = try await LiveControl.send(
            "PATCH", #"{"rotation":180}"#, to: vidicon.page("/api/streams/live"))
          #expect(shown.status == 200 && turned.status == 200)
          try await Self.waitForFrames(of: "live", vidicon)
          for _ in 0..<3 {
            let image = try await Self.snapshot("live", vidicon, in: folder).turned(columns: -1, rows: -1)
            #expect(image.brightest.allSatisfy { $0 >= 60 }, "\(image.brightest)")
          }
        }
      }
    }

    @Test(.tags(.demanding)) func `no zoom or exposure that a client requests shows the face of a private stream`()
      async throws
    {
      try await TestMedia.withTemporaryFolder { folder in
        let frames = "\(folder)/frames.yuv"
        let made = try await Tool.run(
          "ffmpeg",
          FFmpeg.quiet + ["-i", try TestMedia.file("single_face.mp4"), "-an", "-vf", "fps=10,scale=640:360"]
            + ["-pix_fmt", "yuv420p", "-f", "rawvideo", frames],
          within: .seconds(30))
        try #require(made.succeeded, "\(made.errors)")
        let environment = try FakeCamera.environment(["formats=YU12 640x360 10;controls=2;raw=\(frames)"])
        let options = ["--source", "v4l2:", "--audio", "none", "--size", "640x360", "--fps", "\(FaceClip.frameRate)"]
        // Each of them shows the place that is judged within the face: up to 1.6 times larger, around the middle.
        let changes = [("zoom-absolute", 160), ("exposure-time-absolute", 60), ("exposure-time-absolute", 150)]
        try await VidiconProcess.serving(options, environment: environment) { vidicon in
          func change(_ name: String, to value: Int?) async throws {
            let json = #"{"controls":{"\#(name)":\#(value.map(String.init) ?? "null")}}"#
            let answer = try await LiveControl.send("PATCH", json, to: vidicon.page("/api/streams/live"))
            #expect(answer.status == 200, "\(json): \(answer.text)")
          }
          // The judge sees the face in each state, and the controls change what is seen.
          let plain = try await FaceClip(vidicon.url(), frameCount: 30)
          #expect(plain.brightest.count == 30 && plain.brightest.allSatisfy { $0 >= 60 }, "\(plain.brightest)")
          for (name, value) in changes {
            try await change(name, to: value)
            try await Self.waitForFrames(of: "live", vidicon)
            let image = try await Self.snapshot("live", vidicon, in: folder)
            #expect(image.brightest.allSatisfy { $0 >= 60 }, "\(name) \(value): \(image.brightest)")
            #expect(image.distance(from: plain) > 40, "\(name) \(value)")
            try await change(name, to: nil)
          }
          #expect(try await Self.put("live/effects", #"{"faces":"privacy"}"#, vidicon).status == 200)
          async let watched = FaceClip(vidicon.url(), frameCount: 60)
          _ = try await vidicon.status { $0.viewers == 1 && ($0.bytesSent ?? 0) > 0 }
          for (name, value) in changes {
            for value in [value, nil] {
              try await change(name, to: value)
              for _ in 0..<2 {
                let image = try await Self.snapshot("live", vidicon, in: folder)
                #expect(image.brightest.allSatisfy { $0 < 60 }, "\(name): \(image.brightest)")
              }
            }
          }
          // Frames of all states, whatever their rate.
          let clip = try await watched.brightest
          #expect(clip.count == 60 && clip.allSatisfy { $0 < 60 }, "\(clip)")
        }
      }
    }

    @Test func `a model with one changed bit is an error of the request, and the whole frame is covered`() async throws
    {
      struct Settings: Decodable { var faces: String }
      try await TestMedia.withTemporaryFolder { folder in
        let models = "\(folder)/models"
        try FileManager.default.copyItem(atPath: TestMedia.modelFolder, toPath: models)
        for name in try FileManager.default.contentsOfDirectory(atPath: models) {
          // Of its weights, so that its shape is right.
          var bytes = try Data(contentsOf: URL(filePath: "\(models)/\(name)"))
          bytes[bytes.startIndex + bytes.count / 2] ^= 1
          try bytes.write(to: URL(filePath: "\(models)/\(name)"))
        }
        try await VidiconProcess.serving(FaceClip.source(), environment: ["VIDICON_MODELS": models]) { vidicon in
          #expect(try await Self.snapshot("live", vidicon, in: folder).brightest.allSatisfy { $0 >= 60 })
          let answer = try await Self.put("live/effects", #"{"faces":"privacy"}"#, vidicon)
          #expect(answer.status >= 400 && answer.text.contains("damaged"), "\(answer.status) \(answer.text)")
          #expect(answer.text.contains("until then the whole frame is covered"), "\(answer.text)")
          let settings = try await Curl.get(vidicon.page("/api/streams/live/effects")).json(Settings.self)
          #expect(settings.faces == "privacy")
          let clip = try await FaceClip(vidicon.url(), frameCount: 20).brightest
          #expect(clip.count == 20 && clip.allSatisfy { $0 < 60 }, "\(clip)")
          #expect(try await Self.snapshot("live", vidicon, in: folder).brightest.allSatisfy { $0 < 60 })
          #expect(try await Self.put("live/effects", #"{"faces":"off"}"#, vidicon).status == 200)
          try await Self.waitForFrames(of: "live", vidicon)
          #expect(try await Self.snapshot("live", vidicon, in: folder).brightest.allSatisfy { $0 >= 60 })
        }
      }
    }
  }
}
