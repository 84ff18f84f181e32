import Foundation
import Testing

extension EndToEnd {
  /// A publisher's frames become square, by their size or by the shape of their pixels, while faces are private.
  @Suite("Privacy while the shape of the frames changes")
  struct ChangingShapes {
    private static let key = "0123456789abcdef0123"

    /// A change of the shape; both make a square of the clip between bars above and below.
    enum Change: String, CaseIterable {
      case size, pixels

      /// Filter of ffmpeg for the second part.
      var filter: String {
        switch self {
        case .size: "pad=640:640:0:140"
        case .pixels: "pad=640:640:0:140,scale=640:360,setsar=9/16"
        }
      }
    }

    /// Eight seconds of a face, and a minute in another shape.
    private static func film(_ change: Change, _ container: String, in folder: String) async throws -> String {
      var film = Data()
      for (part, filter) in ["null", change.filter].enumerated() {
        let file = "\(folder)/\(part).\(container)"
        let run = try await Tool.run(
          "ffmpeg",
          [
            "-nostdin", "-v", "error", "-stream_loop", "-1", "-i", try TestMedia.file("single_face.mp4"), "-an", "-vf",
            filter,
          ]
            + ["-r", "\(FaceClip.frameRate)", "-c:v", "libx264", "-preset", "ultrafast", "-tune", "zerolatency"]
            + ["-pix_fmt", "yuv420p", "-g", "\(FaceClip.frameRate)", "-t", part == 0 ? "8" : "60"]
            + ["-output_ts_offset", "\(8 * part)", file],
          within: .seconds(60))
        try #require(run.succeeded, "\(run.errors)")
        // FLV: behind the header and the size of the tag before the first one.
        film += try Data(contentsOf: URL(filePath: file)).dropFirst(container == "flv" && part == 1 ? 13 : 0)
      }
      let path = "\(folder)/film.\(container)"
      try film.write(to: URL(filePath: path))
      return path
    }

    /// A decoded frame of 160×90.
    private struct Frame {
      let luma: ArraySlice<UInt8>

      private func values(_ columns: Range<Int>, _ rows: Range<Int>) -> [Int] {
        rows.flatMap { row in columns.map { Int(self.luma[self.luma.startIndex + row * 160 + $0]) } }
      }

      /// Whether it has bars at its sides: it is square. The cover of a whole frame is brighter.
      var isSquare: Bool { (self.values(0..<33, 0..<90) + self.values(127..<160, 0..<90)).allSatisfy { $0 < 16 } }
      /// Luma of the brightest pixel of the face, brows to mouth, in a square.
      var face: Int { self.values(69..<83, 39..<56).max() ?? 0 }
      /// Luma of the darkest pixel of the bright door beside the face, in a square.
      var door: Int { self.values(99..<109, 30..<44).min() ?? 0 }
      /// Luma of the darkest pixel of the door where no cover of the face reaches it.
      var edge: Int { self.values(108..<113, 30..<44).min() ?? 0 }
      /// Luma of the brightest pixel of the bars that the publisher sends.
      var bars: Int { (self.values(36..<124, 0..<17) + self.values(36..<124, 73..<90)).max() ?? 0 }
    }

    /// Publishes a film, and plays it to some seconds after the change.
    private static func frames(_ change: Change, over scheme: String, _ options: [String]) async throws -> [Frame] {
      try await TestMedia.withTemporaryFolder { folder in
        let film = try await Self.film(change, scheme == "rtmp" ? "flv" : "ts", in: folder)
        let source = ["--source", "\(scheme):?key=\(Self.key)", "--size", "640x360", "--fps", "\(FaceClip.frameRate)"]
        return try await VidiconProcess.serving(source + ["--rtmp-port", "0"] + options) { vidicon in
          _ = try await vidicon.status { $0.isSlateShown == true }
          let target =
            scheme == "rtmp"
            ? ["-f", "flv", try vidicon.rtmp("live/\(Self.key)")]
            : ["-f", "rtsp", "-rtsp_transport", "tcp", vidicon.url() + "?key=\(Self.key)"]
          let publisher = try ChildProcess(
            Tool("ffmpeg").path, ["-nostdin", "-v", "error", "-re", "-i", film, "-c", "copy"] + target)
          defer { publisher.kill() }
          _ = try await vidicon.status { $0.isSlateShown == false && ($0.framesIn ?? 0) > 5 }
          let play = try await FFmpeg.play(vidicon.url(), frames: 14 * FaceClip.frameRate, audio: false)
          #expect(play.run.exit == .status(0) && publisher.isRunning, "\(play.run.errors) \(publisher.errors.text)")
          return (0..<play.frames.count).map { Frame(luma: play.frames[$0]) }
        }
      }
    }

    @Test(.tags(.pacing), arguments: ["rtsp", "rtmp"], Change.allCases)
    func `a face stays covered, and nothing is stretched`(scheme: String, change: Change) async throws {
      let squares = try await Self.frames(change, over: scheme, ["--faces", "privacy"]).filter(\.isSquare)
      try #require(squares.count > 2 * FaceClip.frameRate, "\(squares.count) frames")
      #expect(squares.allSatisfy { $0.face < 60 && $0.bars < 60 }, "\(squares.map(\.face)) \(squares.map(\.bars))")
      // The face alone is covered.
      #expect(squares.suffix(5).contains { $0.edge > 150 }, "\(squares.map(\.edge))")
    }

    @Test(.tags(.pacing)) func `without privacy the face is seen, in its shape`() async throws {
      let squares = try await Self.frames(.size, over: "rtsp", ["--pass-through", "on"]).filter(\.isSquare)
      try #require(squares.count > 2 * FaceClip.frameRate, "\(squares.count) frames")
      #expect(squares.allSatisfy { $0.face > 100 && $0.door > 150 && $0.bars < 16 })
    }
  }
}
