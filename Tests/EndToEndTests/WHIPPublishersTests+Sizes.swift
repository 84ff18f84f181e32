import Foundation
import Testing

extension EndToEnd.WHIPPublishers {
  /// Frames of another size than the stream's are encoded again, those before and after are the browser's own.
  @Test(.tags(.timing))
  func `H.264 of a browser is passed through, and encoded again only while its size is another`() async throws {
    try await VidiconProcess.serving(Self.source + ["--pass-through", "on"]) { vidicon in
      /// Waits until so many further frames were passed through, and none was encoded meanwhile.
      func passes(_ count: Int) async throws {
        _ = try await vidicon.status(within: .seconds(60)) { stream in
          stream.isSlateShown == false && (stream.framesPassedThrough ?? 0) > 0
        }
        let before = try await vidicon.status { _ in true }
        let end = (before.framesPassedThrough ?? 0) + count
        let after = try await vidicon.status(within: .seconds(60)) { ($0.framesPassedThrough ?? 0) >= end }
        #expect(after.framesEncoded == before.framesEncoded)
      }
      var watched: StripWatch?
      var encoded: [Int] = []
      let seen = try await Self.publishing({
        Self.browser(vidicon, until: $0, "--strip", "--shrink", "--pause", "10")
      }) {
        try await passes(30)
        encoded.append(try #require(try await vidicon.status { _ in true }.framesEncoded))
        watched = try await StripWatch.watch(vidicon.url(), seconds: 21)
        encoded.append(try #require(try await vidicon.status { _ in true }.framesEncoded))
        try await passes(60)
      }
      #expect(seen.status == 201 && seen.errors == [] && seen.deleted == 200 && seen.codec == "video/H264")
      // The size has changed, and back.
      let heights = try #require(seen.heights)
      try #require(heights.count == 2 && heights[0] < heights[1], "\(heights)")
      #expect(encoded[1] - encoded[0] > 60, "\(encoded)")
      let watch = try #require(watched)
      #expect(watch.run.succeeded && FFmpeg.complaints(in: watch.run.errors) == [], "\(watch.run.errors)")
      let stall = watch.maximumStall
      report("maximum time without a new frame where passing through ends and begins, s", stall, limit: 0.3)
      #expect(stall > 0 && stall <= 0.3)
      #expect(zip(watch.frames, watch.frames.dropFirst()).allSatisfy { $0.captured <= $1.captured })
    }
  }

  /// An upright frame of 480×640 whose upper quarter is white, in a stream of 640×360: with black sides, or cut above and below.
  @Test(.tags(.pacing), arguments: ["fit", "fill"])
  func `an upright publisher is shown whole between black sides, or fills the stream`(scaling: String) async throws {
    try await VidiconProcess.serving(Self.source + ["--scaling", scaling]) { vidicon in
      var played: FFmpeg.Play?
      let seen = try await Self.publishing({ try Self.aiortc(vidicon, until: $0, size: "480x640") }) {
        _ = try await Self.live(vidicon)
        played = try await FFmpeg.play(vidicon.url(), frames: 30)
      }
      #expect(seen.status == 201 && seen.deleted == 200)
      let frames = try #require(played).frames
      try #require(frames.count == 30)
      let last = Array(frames[29])
      func luma(_ x: Int, _ y: Int) -> UInt8 { last[y * frames.width + x] }
      if scaling == "fit" {
        // 67 of 160 columns have the frame.
        #expect(luma(20, 10) < 8 && luma(20, 80) < 8 && luma(140, 10) < 8 && luma(140, 80) < 8)
        #expect(luma(60, 10) > 240 && luma(100, 10) > 240 && luma(108, 80) > 180)
      } else {
        // The gradient, which begins with a luma of 4 in full range, has all columns, and the white quarter is cut off.
        #expect(luma(140, 10) > 180 && luma(140, 80) > 180)
        #expect((0..<160).count { luma($0, 10) > 240 } < 30)
        #expect((0..<160).count { luma($0, 10) < 8 } < 8)
      }
    }
  }
}
