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
    let options = url.hasPrefix("rtsp") ? FFmpeg.overTCP : []
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
    let beside = { (clip: FaceClip, index: Int) in
      (clip.part(index, 0..<36, 0..<90) + clip.part(index, 124..<160, 0..<90)).flatMap { $0 }
    }
    let known = (0..<other.pictures.count).map { beside(other, $0) }
    let strays = (0..<self.pictures.count).map { index in
      let own = beside(self, index)
      return known.map { zip($0, own).reduce(0) { $0 + abs($1.0 - $1.1) } }.min() ?? .max
    }
    return Double(strays.max() ?? .max) / (72 * 90)
  }
}
