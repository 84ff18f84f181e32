import Testing

/// The clip of one face, and what is seen of that face where the clip was played.
struct FaceClip {
  /// How many pictures a second are played: few, since many streams of it run at once.
  static let frameRate = 10

  /// 640×360, 2.4 s, one man who begins to smile.
  static func source() throws -> [String] {
    ["--source", "file:\(try TestMedia.file("single_face.mp4"))", "--audio", "none", "--fps", "\(Self.frameRate)"]
  }

  let pictures: Pictures

  /// Plays an address for some seconds, or a file to its end.
  init(_ url: String, seconds: Int? = nil) async throws {
    let options = url.hasPrefix("rtsp") ? FFmpeg.overTCP + ["-fpsprobesize", "0"] : []
    let end = seconds.map { ["-t", "\($0)"] } ?? []
    let run = try await Tool.run(
      "ffmpeg",
      FFmpeg.quiet + ["-xerror"] + options + ["-i", url] + end
        + ["-vf", "scale=160:90,format=gray", "-fps_mode", "passthrough", "-f", "rawvideo", "pipe:1"],
      within: .seconds(40))
    guard run.succeeded else { throw VidiconProcess.Failure(description: "\(url): \(run.errors)") }
    self.pictures = Pictures(width: 160, height: 90, bytes: run.output)
  }

  /// The luma of columns and rows of a picture.
  private func part(_ index: Int, _ columns: Range<Int>, _ rows: Range<Int>) -> [[Int]] {
    let picture = self.pictures[index]
    return rows.map { row in columns.map { Int(picture[picture.startIndex + row * 160 + $0]) } }
  }

  /// The middle of the face in a picture, from the brows to the mouth: it is there in all of them.
  private func face(_ index: Int) -> [[Int]] { self.part(index, 60..<86, 34..<66) }

  /// How much there is to see of the face: the mean step from pixel to pixel, for each picture. Unmasked it is 8 to 10.
  var details: [Double] {
    (0..<self.pictures.count).map { index in
      let steps = self.face(index).flatMap { row in zip(row, row.dropFirst()).map { abs($0 - $1) } }
      return Double(steps.reduce(0, +)) / Double(steps.count)
    }
  }

  /// How dark the brightest pixel of the face is, for each picture.
  var brightest: [Int] { (0..<self.pictures.count).map { self.face($0).joined().max() ?? 0 } }

  /// How far what is beside the face is from the nearest picture of another play, at most.
  func strayBesideFace(from other: FaceClip) -> Double {
    // Every fourth pixel both ways.
    let columns = Array(stride(from: 0, to: 36, by: 4)) + Array(stride(from: 124, to: 160, by: 4))
    let places = stride(from: 0, to: 90, by: 4).flatMap { row in columns.map { row * 160 + $0 } }
    return self.stray(from: other, at: [places])
  }

  /// How far any part of a picture is from the nearest picture of another play, at most.
  func stray(from other: FaceClip) -> Double {
    let tiles = (0..<9).flatMap { row in (0..<16).map { column in row * 10 * 160 + column * 10 } }
    return self.stray(
      from: other,
      at: tiles.map { tile in [0, 3, 6, 9].flatMap { row in [0, 3, 6, 9].map { tile + row * 160 + $0 } } })
  }

  /// The mean distance in the part that differs most, of the picture that differs most from all of another play.
  private func stray(from other: FaceClip, at parts: [[Int]]) -> Double {
    func values(_ clip: FaceClip, _ index: Int) -> [[Int]] {
      let picture = clip.pictures[index]
      return parts.map { part in part.map { Int(picture[picture.startIndex + $0]) } }
    }
    let known = (0..<other.pictures.count).map { values(other, $0) }
    return (0..<self.pictures.count).map { index in
      let own = values(self, index)
      return known.map { known in
        zip(own, known).map { own, known in
          Double(zip(own, known).reduce(0) { $0 + abs($1.0 - $1.1) }) / Double(own.count)
        }.max() ?? 0
      }.min() ?? .infinity
    }.max() ?? .infinity
  }
}
