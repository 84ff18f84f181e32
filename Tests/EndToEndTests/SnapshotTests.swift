import Foundation
import Testing

extension EndToEnd {
  @Suite("Snapshots and motion JPEG")
  struct Snapshots {
    private static func bars(_ rate: Int, _ size: String = "1280x720") -> [String] {
      ["--source", "bars", "--audio", "none", "--size", size, "--fps", "\(rate)"]
    }

    @Test(.tags(.timing), arguments: [30, 2]) func `a snapshot is at most one frame interval old`(frameRate: Int)
      async throws
    {
      try await VidiconProcess.serving(Self.bars(frameRate)) { vidicon in
        for _ in 0..<5 {
          let asked = Int64(Date().timeIntervalSince1970 * 1e6)
          let answer = try await Curl.get(vidicon.page("/live/snapshot.jpg"))
          #expect(answer.status == 200 && answer["content-type"] == "image/jpeg")
          let frame = try await Self.decode(answer.body, width: 1280, height: 720)
          let captured = try #require(Timecode.read(frame[0], width: 1280))
          // Relative to the request. curl takes time to start, and the server waits for the next frame when the last is older.
          let age = Double(asked - captured) / 1e6
          report("age, s, \(frameRate) per second", age, limit: 1 / Double(frameRate) + 0.1)
          #expect(age < 1 / Double(frameRate) + 0.1, "\(age) s")
          #expect(age > -2 / Double(frameRate) - 1)
        }
      }
    }

    @Test func `a snapshot has the requested width, and the stream's aspect ratio and colors`() async throws {
      try await VidiconProcess.serving(Self.bars(30)) { vidicon in
        let widths: [(query: String, width: Int, height: Int)] = [
          ("", 1280, 720), ("?width=640", 640, 360), ("?width=321", 320, 180), ("?width=16384", 1280, 720),
        ]
        for (query, width, height) in widths {
          let answer = try await Curl.get(vidicon.page("/live/snapshot.jpg\(query)"))
          let size = try Self.size(ofJPEG: answer.body)
          #expect(size.width == width && size.height == height, "\(query): \(size)")
        }
        for query in [
          "?width=0", "?width=-1", "?width=16385", "?width=a", "?width=", "?width=1e2", "?width=99999999999999999999",
        ] {
          let answer = try await Curl.get(vidicon.page("/live/snapshot.jpg\(query)"))
          #expect(answer.status == 400 && answer.text.contains("width"), "\(query)")
        }
        // White, yellow, cyan, green, magenta, red and blue of 75%, from left to right.
        let colors = [
          [191, 191, 191], [191, 191, 0], [0, 191, 191], [0, 191, 0], [191, 0, 191], [191, 0, 0], [0, 0, 191],
        ]
        let snapshot = try await Curl.get(vidicon.page("/live/snapshot.jpg"))
        let rgb = try await Self.raw(snapshot.body, "rgb24")
        try #require(rgb.count == 1280 * 720 * 3)
        for (index, color) in colors.enumerated() {
          let at = (400 * 1280 + index * 1280 / 7 + 90) * 3
          let pixel = rgb[at..<(at + 3)].map { Int($0) }
          #expect(zip(pixel, color).allSatisfy { abs($0 - $1) <= 8 }, "bar \(index): \(pixel) is not \(color)")
        }
      }
    }

    @Test func `a snapshot of a rendition of another shape is its own frame, with black bars`() async throws {
      let rendition = ["--rendition", "name=square,size=360x360,bitrate=300k"]
      try await VidiconProcess.serving(Self.bars(30) + rendition) { vidicon in
        for (query, size) in [("", 360), ("?width=180", 180), ("?width=5000", 360)] {
          let answer = try await Curl.get(vidicon.page("/live/square/snapshot.jpg\(query)"))
          #expect(answer.status == 200 && answer["content-type"] == "image/jpeg")
          let found = try Self.size(ofJPEG: answer.body)
          #expect(found.width == size && found.height == size, "\(query): \(found)")
          let rgb = try await Self.raw(answer.body, "rgb24")
          try #require(rgb.count == size * size * 3)
          func pixel(_ x: Int, _ y: Int) -> [Int] { rgb[((y * size + x) * 3)..<((y * size + x) * 3 + 3)].map(Int.init) }
          // 16:9 in a square: bars of 22% above and below; gray and blue of the pattern at its sides.
          for y in [0, size / 8, size - size / 8, size - 1] {
            #expect(pixel(size / 2, y).allSatisfy { $0 < 8 }, "\(query): \(pixel(size / 2, y)) in row \(y)")
          }
          for (x, color) in [(size / 14, [191, 191, 191]), (size - size / 14, [0, 0, 191])] {
            let distance = zip(pixel(x, size / 2), color).map { abs($0 - $1) }.max() ?? 255
            #expect(distance <= 12, "\(query): \(pixel(x, size / 2)) is not \(color)")
          }
        }
        // The snapshot is the frame of the rendition's viewers.
        let video = try await Tool.run(
          "ffmpeg",
          FFmpeg.quiet + FFmpeg.overTCP + ["-i", vidicon.url("live/square"), "-frames:v", "1", "-f", "rawvideo"]
            + ["-pix_fmt", "rgb24", "-"], within: .seconds(20))
        let seen = try await Self.raw(
          try await Curl.get(vidicon.page("/live/square/snapshot.jpg")).body, "rgb24")
        try #require(video.succeeded && video.output.count == seen.count)
        // Only rows above the flash, which one of the two may show.
        let count = 360 * 3 * 210
        let difference = zip(video.output, seen).prefix(count).reduce(0) { $0 + abs(Int($1.0) - Int($1.1)) }
        #expect(Double(difference) / Double(count) < 6)
      }
    }

    @Test(.tags(.pacing)) func `motion JPEG has complete parts at the requested rate, encoded once for all viewers`()
      async throws
    {
      try await VidiconProcess.serving(Self.bars(30, "640x360")) { vidicon in
        let before = try await #require(Metrics(of: vidicon).sum("vidicon_jpeg_encoded_total"))
        async let first = Self.watch(vidicon, "", seconds: 5)
        async let second = Self.watch(vidicon, "", seconds: 5)
        let shown = try await [first, second]
        for frames in shown {
          #expect((40...56).contains(frames.count), "\(frames.count) frames in 5 s, not ten a second")
        }
        let encoded = try await #require(Metrics(of: vidicon).sum("vidicon_jpeg_encoded_total")) - before
        #expect(encoded < 65, "\(encoded) frames encoded for two viewers of 50")
        let common = Set(shown[0]).intersection(shown[1]).count
        #expect(common > 30, "both are to get the same files: \(common)")

        async let slow = Self.watch(vidicon, "?fps=2&width=320", seconds: 4)
        async let quick = Self.watch(vidicon, "?fps=25", seconds: 4)
        let (slowly, quickly) = try await (slow, quick)
        #expect((7...10).contains(slowly.count), "\(slowly.count)")
        #expect((80...105).contains(quickly.count), "\(quickly.count)")
        for frames in [slowly, quickly] {
          let times = try await Self.times(of: frames)
          #expect(zip(times.dropFirst(), times).allSatisfy { $0 > $1 }, "each frame is newer than the one before")
        }
        for query in ["?fps=0", "?fps=121", "?fps=x", "?width=0"] {
          #expect(try await Curl.get(vidicon.page("/live/mjpeg\(query)")).status == 400, "\(query)")
        }
      }
    }

    @Test(.tags(.pacing)) func `ffmpeg plays motion JPEG while a viewer that does not read is closed`()
      async throws
    {
      let noise = ["--source", "noise", "--audio", "none", "--size", "640x360", "--bitrate", "2000k"]
      try await VidiconProcess.serving(noise) { vidicon in
        let port = vidicon.httpPort
        let stuck = try await waiting {
          let connection = try RawConnection(port: port, receiveBuffer: 4_096)
          connection.send("GET /live/mjpeg?fps=30 HTTP/1.1\r\nHost: a\r\n\r\n")
          return connection
        }
        let input = FFmpeg.quiet + ["-f", "mpjpeg", "-i", vidicon.page("/live/mjpeg"), "-frames:v", "250"]
        let play = try await Tool.run(
          "ffmpeg", input + ["-vf", "scale=16:9,format=gray", "-f", "rawvideo", "pipe:1"], within: .seconds(45))
        #expect(play.succeeded && FFmpeg.complaints(in: play.errors) == [], "\(play.errors)")
        #expect(play.output.count == 250 * 16 * 9)
        #expect(play.duration < .seconds(32), "250 frames at ten a second took \(play.duration)")
        // The viewer has read nothing for more than 20 s.
        let viewers = try await Metrics(of: vidicon).sum("vidicon_viewers", "protocol=\"mjpeg\"", "stream=\"live\"")
        #expect(viewers == 0, "the viewer that does not read is still connected")
        withExtendedLifetime(stuck) {}
      }
    }

    /// Images received over motion JPEG within some seconds.
    private static func watch(_ vidicon: VidiconProcess, _ query: String, seconds: Int) async throws -> [[UInt8]] {
      let run = try await Tool.run(
        "curl",
        ["--silent", "--no-buffer", "--noproxy", "*", "--max-time", "\(seconds)", "--include"]
          + [vidicon.page("/live/mjpeg\(query)")],
        within: .seconds(seconds + 10))
      var rest = run.output[...]
      func line() throws -> String {
        guard let end = rest.firstIndex(of: UInt8(ascii: "\n")) else { throw Incomplete() }
        defer { rest = rest[(end + 1)...] }
        try #require(rest[..<end].last == UInt8(ascii: "\r"))
        return String(decoding: rest[..<end].dropLast(), as: UTF8.self)
      }
      var boundary: Substring?
      while case let field = try line(), !field.isEmpty {
        guard field.lowercased().hasPrefix("content-type: multipart/x-mixed-replace; boundary=") else { continue }
        boundary = field.split(separator: "=").last
      }
      let delimiter = "--\(try #require(boundary))"
      var frames: [[UInt8]] = []
      // curl ends within a part.
      do {
        try #require(try line() == delimiter)
        while true {
          try #require(try line() == "Content-Type: image/jpeg")
          let length = try #require(Int(try line().dropFirst("Content-Length: ".count)))
          try #require(try line() == "")
          guard rest.count >= length else { throw Incomplete() }
          let frame = Array(rest.prefix(length))
          try #require(frame.starts(with: [0xff, 0xd8]) && frame.suffix(2) == [0xff, 0xd9])
          frames.append(frame)
          rest = rest.dropFirst(length)
          try #require(try line() == "")
          try #require(try line() == delimiter)
        }
      } catch is Incomplete {
        return frames
      }
    }

    private struct Incomplete: Error {}

    /// Capture times in the timecode strips of images, microseconds since 1970.
    private static func times(of frames: [[UInt8]]) async throws -> [Int64] {
      let size = try self.size(ofJPEG: try #require(frames.first))
      let luma = try await self.raw(frames.flatMap { $0 }, "gray")
      let decoded = LumaFrames(width: size.width, height: size.height, bytes: luma)
      try #require(decoded.count == frames.count)
      return try (0..<decoded.count).map { try #require(Timecode.read(decoded[$0], width: size.width)) }
    }

    private static func decode(_ file: [UInt8], width: Int, height: Int) async throws -> LumaFrames {
      let frames = LumaFrames(width: width, height: height, bytes: try await self.raw(file, "gray"))
      try #require(frames.count == 1)
      return frames
    }

    /// Decoded pixels of one or more JPEG images.
    private static func raw(_ files: [UInt8], _ format: String) async throws -> [UInt8] {
      try await TestMedia.withTemporaryFolder { folder in
        try Data(files).write(to: URL(fileURLWithPath: "\(folder)/frames"))
        let run = try await Tool.run(
          "ffmpeg",
          FFmpeg.quiet + ["-f", "mjpeg", "-i", "\(folder)/frames", "-pix_fmt", format]
            + FFmpeg.rawVideo + ["pipe:1"],
          within: .seconds(15))
        try #require(run.succeeded, "\(run.errors)")
        return run.output
      }
    }

    /// Size in the frame header, ITU-T T.81 §B.2.2.
    private static func size(ofJPEG bytes: [UInt8]) throws -> (width: Int, height: Int) {
      var at = 2
      while at + 9 < bytes.count {
        let (marker, length) = (bytes[at + 1], Int(bytes[at + 2]) << 8 | Int(bytes[at + 3]))
        if marker == 0xc0 {
          return (Int(bytes[at + 7]) << 8 | Int(bytes[at + 8]), Int(bytes[at + 5]) << 8 | Int(bytes[at + 6]))
        }
        at += 2 + length
      }
      throw Incomplete()
    }
  }
}
