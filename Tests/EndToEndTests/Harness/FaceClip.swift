import Testing

/// Decoded frames of the clip `single_face.mp4`, as a client received them, with measures of the face.
struct FaceClip {
  /// Frames per second. Low, since many streams run at once.
  static let frameRate = 10

  /// Source options of the clip: 640×360, 2.4 s, one man who begins to smile.
  static func source() throws -> [String] {
    ["--source", "file:\(try TestMedia.file("single_face.mp4"))", "--audio", "none", "--fps", "\(Self.frameRate)"]
  }

  let frames: LumaFrames

  /// Frames of 160×90 that a client has decoded.
  init(frames: LumaFrames) { self.frames = frames }

  /// Plays a URL for some seconds, or a number of frames however long they take, or a file to its end.
  init(_ url: String, seconds: Int? = nil, frameCount: Int? = nil) async throws {
    let options = url.hasPrefix("rtsp") ? FFmpeg.overTCP + ["-fpsprobesize", "0"] : []
    let end = (seconds.map { ["-t", "\($0)"] } ?? []) + (frameCount.map { ["-frames:v", "\($0)"] } ?? [])
    let run = try await Tool.run(
      "ffmpeg",
      FFmpeg.quiet + ["-xerror"] + options + ["-i", url] + end
        + ["-vf", "scale=160:90,format=gray"] + FFmpeg.rawVideo + ["pipe:1"],
      within: .seconds(40))
    self.frames = LumaFrames(width: 160, height: 90, bytes: run.output)
    guard run.succeeded, self.frames.count > 0 else {
      throw VidiconProcess.Failure(description: "\(url): \(self.frames.count) frames; \(run.errors)")
    }
  }

  /// The clip with the order of its columns, or rows, reversed where the sign is negative.
  func turned(columns: Int, rows: Int) -> FaceClip {
    var bytes: [UInt8] = []
    for index in 0..<self.frames.count {
      let frame = Array(self.frames[index])
      for row in 0..<90 {
        let line = frame[(rows < 0 ? 89 - row : row) * 160..<(rows < 0 ? 90 - row : row + 1) * 160]
        if columns < 0 { bytes.append(contentsOf: line.reversed()) } else { bytes.append(contentsOf: line) }
      }
    }
    return FaceClip(frames: LumaFrames(width: 160, height: 90, bytes: bytes))
  }

  /// Luma of a region of a frame, row by row.
  private func part(_ index: Int, _ columns: Range<Int>, _ rows: Range<Int>) -> [[Int]] {
    let frame = self.frames[index]
    return rows.map { row in columns.map { Int(frame[frame.startIndex + row * 160 + $0]) } }
  }

  /// Luma of the center of the face, brows to mouth. This region shows the face in every frame of the clip.
  private func face(_ index: Int) -> [[Int]] { self.part(index, 60..<86, 34..<66) }

  /// Visible detail of the face: mean absolute difference of neighboring pixels, per frame. 8 to 10 without a mask.
  var details: [Double] {
    (0..<self.frames.count).map { index in
      let steps = self.face(index).flatMap { row in zip(row, row.dropFirst()).map { abs($0 - $1) } }
      return Double(steps.reduce(0, +)) / Double(steps.count)
    }
  }

  /// Luma of the brightest pixel of the face, per frame.
  var brightest: [Int] { (0..<self.frames.count).map { self.face($0).joined().max() ?? 0 } }

  /// Maximum distance, over all frames, of the area beside the face to the nearest frame of another play.
  func distanceBesideFace(from other: FaceClip) -> Double {
    // Every fourth pixel in both directions.
    let columns = Array(stride(from: 0, to: 36, by: 4)) + Array(stride(from: 124, to: 160, by: 4))
    let offsets = stride(from: 0, to: 90, by: 4).flatMap { row in columns.map { row * 160 + $0 } }
    return self.distance(from: other, at: [offsets])
  }

  /// Maximum distance, over all frames, of any 10×10 tile to the nearest frame of another play.
  func distance(from other: FaceClip) -> Double {
    let tiles = (0..<9).flatMap { row in (0..<16).map { column in row * 10 * 160 + column * 10 } }
    return self.distance(
      from: other,
      at: tiles.map { tile in [0, 3, 6, 9].flatMap { row in [0, 3, 6, 9].map { tile + row * 160 + $0 } } })
  }

  /// Maximum over all frames of the minimum over the other play's frames of the largest mean distance in a part.
  private func distance(from other: FaceClip, at parts: [[Int]]) -> Double {
    func values(_ clip: FaceClip, _ index: Int) -> [[Int]] {
      let frame = clip.frames[index]
      return parts.map { part in part.map { Int(frame[frame.startIndex + $0]) } }
    }
    let known = (0..<other.frames.count).map { values(other, $0) }
    return (0..<self.frames.count).map { index in
      let own = values(self, index)
      return known.map { known in
        zip(own, known).map { own, known -> Double in
          var sum = 0
          for (own, known) in zip(own, known) { sum += abs(own - known) }
          return Double(sum) / Double(own.count)
        }.max() ?? 0
      }.min() ?? .infinity
    }.max() ?? .infinity
  }
}
