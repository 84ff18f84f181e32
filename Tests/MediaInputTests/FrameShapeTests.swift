import Capture
import Foundation
import Media
import TestSupport
import Testing

@testable import MediaInput

@Suite("Shapes of frames of files", .timeLimit(.minutes(5)))
struct FrameShapeTests {
  /// Luma of the first pixels of a file's frames, and its format.
  private static func frames(_ path: String, _ count: Int) throws -> (format: VideoFormat, frames: [[UInt8]]) {
    let source = try FileSource(path: path, loop: false)
    let video = try #require(source.video)
    let collector = FrameCollector(keep: count)
    try video.start(consumer: collector)
    defer { video.stop() }
    let frames = collector.frames(count)
    try #require(frames.count == count)
    return (video.format, frames.map { pixels($0) })
  }

  /// Number of bright pixels of a row or column.
  private static func extent(_ luma: [UInt8], _ places: some Sequence<Int>) -> Int { places.count { luma[$0] > 128 } }

  @Test(arguments: ["mpeg2video", "libx264"]) func `pixels that are not square are made square`(codec: String) throws {
    let path = try TestMedia.path(
      "anamorphic_\(codec).ts",
      [
        "-f", "lavfi", "-i",
        "color=black:s=1024x576:r=25:d=1,drawbox=x=412:y=188:w=200:h=200:c=white:t=fill,scale=720:576,setsar=64/45",
        "-c:v", codec, "-b:v", "2M", "-pix_fmt", "yuv420p",
      ])
    let (format, frames) = try Self.frames(path, 3)
    #expect(format.width == 1024 && format.height == 576)
    let luma = try #require(frames.last)
    #expect(abs(Self.extent(luma, (0..<1024).map { 288 * 1024 + $0 }) - 200) < 6)
    #expect(abs(Self.extent(luma, (0..<576).map { $0 * 1024 + 512 }) - 200) < 6)
  }

  /// Codec, pixel format, field that is shown first, and container of interlaced files.
  private static let interlaced = [
    ("rawvideo -tag:v 2vuy", "uyvy422", "tff", "mov"), ("mpeg2video -b:v 4M", "yuv420p", "tff", "ts"),
    ("libx264 -preset ultrafast -qp 10", "yuv420p", "tff", "mp4"),
    ("libx264 -preset ultrafast -qp 10 -x264-params bff=1", "yuv420p", "bff", "ts"),
    ("prores_ks", "yuv422p10le", "tff", "mov"),
  ]

  @Test(arguments: Self.interlaced.indices) func `interlaced files are shown without combs`(index: Int) throws {
    let (codec, pixels, first, container) = Self.interlaced[index]
    let path = try TestMedia.path(
      "interlaced_\(index).\(container)",
      [
        "-f", "lavfi", "-i",
        "color=black:s=360x288:r=50:d=1[b];color=white:s=80x150:r=50:d=1[w];[b][w]overlay=x='mod(n*12,280)':y=69",
        "-vf", "interlace=scan=\(first),format=\(pixels),setfield=\(first)", "-r", "25", "-flags", "+ildct+ilme",
        "-c:v",
      ] + codec.split(separator: " ").map(String.init))
    let (format, frames) = try Self.frames(path, 8)
    #expect(format.width == 360 && format.height == 288 && format.pixelFormat == .i420)
    for (number, luma) in frames.enumerated() {
      // Rows within the box; the fields are 12 pixels apart.
      let edges = (100..<190).map { (y: Int) -> Int in (0..<360).first { (x: Int) in luma[y * 360 + x] > 128 } ?? -1 }
      let jumps = zip(edges, edges.dropFirst()).map { abs($0 - $1) }
      #expect(edges[0] >= 0 && jumps.max() ?? 0 < 3, "frame \(number): \(jumps)")
    }
  }

  /// A file of field-coded HEVC, in which a box moves by 12 pixels from field to field.
  private static func fieldCoded(_ container: String) throws -> String {
    try TestMedia.path(
      "fields.\(container)",
      [
        "-f", "lavfi", "-i",
        "color=black:s=360x288:r=50:d=1[b];color=white:s=80x150:r=50:d=1[w];[b][w]overlay=x='mod(n*12,280)':y=69",
        "-vf", "interlace=scan=tff,format=yuv420p,setfield=tff,separatefields", "-c:v", "libx265", "-preset",
        "ultrafast",
        "-x265-params", "interlace=tff:log-level=none:crf=10",
      ])
  }

  @Test(arguments: ["ts", "mp4", "mkv"]) func `fields of HEVC are woven to frames, and shown without combs`(
    container: String
  ) throws {
    let path = try Self.fieldCoded(container)
    let playback = try FileDecoder(path: path, isLooped: false, isConfined: false, interrupt: LibavInterrupt())
    let format = try #require(playback.video?.format)
    #expect(format.width == 360 && format.height == 288 && format.frameRate == 25)
    let frames = try DecodedFile(path) { frame in
      let luma = pixels(frame)
      // Rows within the box.
      return (frame.timestamp, (75..<213).map { (y: Int) -> Int in (0..<360).first { luma[y * 360 + $0] > 128 } ?? -1 })
    }.frames
    try #require(frames.count == 25)
    for (number, (time, edges)) in frames.enumerated() {
      // The place of the first field, which comes at the time of the frame.
      let place = (number * 24 + 12) % 280
      #expect(edges.allSatisfy { abs($0 - place) < 3 }, "frame \(number): \(edges)")
      #expect(abs((time - frames[0].0).nanoseconds - Int64(number) * 40_000_000) < 1_000_000)
    }
  }

  @Test(arguments: ["ts", "mkv"])
  func `fields of HEVC are woven over the network, where the size is known at the opening`(
    container: String
  ) throws {
    let path = try Self.fieldCoded(container)
    let server = try LocalServer.files(in: TestMedia.folder.path)
    let source = try NetworkSource(url: "http://127.0.0.1:\(server.port)/\(URL(filePath: path).lastPathComponent)")
    let video = try #require(source.video)
    #expect(video.format.width == 360 && video.format.height == 288 && video.format.frameRate == 25)
    let collector = SampleCollector()
    try video.start(consumer: collector)
    let state = collector.wait { $0.frameCount >= 15 }
    video.stop()
    #expect(state.frameCount >= 15 && state.formats.isEmpty)
    #expect(state.frames.allSatisfy { $0.format.height == 288 && $0.format.frameRate == 25 })
    let times = state.shown.prefix(15).map(\.time)
    #expect(zip(times, times.dropFirst()).allSatisfy { abs(($1 - $0).nanoseconds - 40_000_000) < 1_500_000 })
  }

  @Test func `frames of another shape later in a file are fitted, and bars are black`() throws {
    func part(_ name: String, _ size: String) throws -> Data {
      let path = try TestMedia.path(
        name,
        [
          "-f", "lavfi", "-i", "color=white:s=\(size):r=25:d=1", "-c:v", "mpeg2video", "-b:v", "2M", "-pix_fmt",
          "yuv420p",
        ])
      return try Data(contentsOf: URL(filePath: path))
    }
    let path = try TestMedia.path(
      "turned.ts", bytes: try part("landscape.ts", "640x360") + part("portrait.ts", "360x640"))
    // Ten converted frames may be in use at once.
    let (format, frames) = try Self.frames(path, 32)
    #expect(format.width == 640 && format.height == 360)
    let (first, last) = (try #require(frames.first), try #require(frames.last))
    #expect(Self.extent(first, (0..<640).map { 180 * 640 + $0 }) == 640)
    // 360 × 640 in 360 rows.
    #expect(abs(Self.extent(last, (0..<640).map { 180 * 640 + $0 }) - 202) < 6)
    #expect(abs(Self.extent(last, (0..<360).map { $0 * 640 + 320 }) - 360) < 3)
    #expect(last[180 * 640] < 20 && last[180 * 640 + 639] < 20)
  }

  /// A transport stream of a second, of a square of 200 × 200 points amid a number of columns and 576 rows, in frames of 720 × 576.
  private static func anamorphic(_ codec: String, columns: Int, ratio: String) throws -> String {
    try TestMedia.path(
      "columns_\(codec)_\(columns).ts",
      [
        "-f", "lavfi", "-i",
        "color=black:s=\(columns)x576:r=25:d=1,drawbox=x=\(columns / 2 - 100):y=188:w=200:h=200:c=white:t=fill,"
          + "scale=720:576,setsar=\(ratio)", "-c:v", codec, "-b:v", "2M", "-pix_fmt", "yuv420p",
      ])
  }

  /// Properties of a frame that are judged: its size, the extent of the square, and the luma of a corner.
  private struct Shape {
    var size: [Int]
    var square: [Int]
    var corner: UInt8

    init(_ frame: VideoFrame) {
      let (width, height, luma) = (frame.format.width, frame.format.height, pixels(frame))
      self.size = [width, height]
      let row = FrameShapeTests.extent(luma, (0..<width).map { height / 2 * width + $0 })
      let column = FrameShapeTests.extent(luma, (0..<height).map { $0 * width + width / 2 })
      self.square = [row, column]
      self.corner = luma[20 * width + 20]
    }

    func hasSquare(_ width: Int, _ height: Int) -> Bool {
      abs(self.square[0] - width) < 6 && abs(self.square[1] - height) < 6
    }
  }

  /// A broadcast changes from 4:3 to 16:9. Matroska and MP4 state the ratio of its first frames for all.
  @Test(arguments: ["mpeg2video", "libx264"], ["ts", "mkv", "mp4"])
  func `pixels of another ratio later in a file are made square too`(codec: String, container: String) throws {
    let parts = try [(768, "16/15"), (1024, "64/45")].map { columns, ratio in
      try Data(contentsOf: URL(filePath: try Self.anamorphic(codec, columns: columns, ratio: ratio)))
    }
    var path = try TestMedia.path("ratios_\(codec)_\(container).ts", bytes: parts[0] + parts[1])
    if container != "ts" {
      path = try TestMedia.path("ratios_\(codec).\(container)", ["-i", path, "-c", "copy"])
    }
    let shapes = try DecodedFile(path) { Shape($0) }.frames
    #expect(shapes.count > 45 && shapes.allSatisfy { $0.size == [768, 576] })
    let (first, last) = (try #require(shapes.first), try #require(shapes.last))
    #expect(first.hasSquare(200, 200), "\(first)")
    // 1024 × 576 points in 768 columns, between bars.
    #expect(last.hasSquare(150, 150) && last.corner < 20, "\(last)")
  }

  @Test(arguments: ["mkv", "mp4"]) func `a ratio of the container that differs from the frames' corrects all of them`(
    container: String
  ) throws {
    let stream = try Self.anamorphic("libx264", columns: 768, ratio: "16/15")
    let path = try TestMedia.path("corrected.\(container)", ["-i", stream, "-c", "copy", "-aspect", "16:9"])
    let shapes = try DecodedFile(path) { Shape($0) }.frames
    // 4:3 would be 768 columns.
    #expect(shapes.count > 20 && shapes.allSatisfy { $0.size == [1024, 576] && $0.hasSquare(267, 200) })
  }

  /// Name, color and transfer of HDR at its reference white.
  private static let whites = [("hlg", "0xBFBFBF", "arib-std-b67"), ("pq", "0x949494", "smpte2084")]

  /// A film of reference white in HEVC.
  private static func whiteFilm(_ name: String, _ color: String, _ transfer: String) throws -> String {
    try TestMedia.path(
      "white_\(name).mov",
      [
        "-f", "lavfi", "-i", "color=\(color):s=320x180:r=30:d=1,format=yuv420p10le", "-c:v", "libx265", "-preset",
        "ultrafast", "-tag:v", "hvc1", "-x265-params",
        "log-level=none:colorprim=bt2020:transfer=\(transfer):colormatrix=bt2020nc:range=limited",
      ])
  }

  @Test(arguments: Self.whites)
  func `reference white of a film in HDR is nearly white`(name: String, color: String, transfer: String) throws {
    let (format, frames) = try Self.frames(Self.whiteFilm(name, color, transfer), 3)
    #expect(format.pixelFormat == .i420 && format.colorMatrix == .bt709)
    #expect(frames.allSatisfy { abs(Int($0[160 * 90]) - 212) < 4 })
  }

  @Test(arguments: Self.whites.indices, ["mkv", "mp4"])
  func `reference white is nearly white where the container alone has the tags of HDR`(
    index: Int, container: String
  ) throws {
    let (name, color, transfer) = Self.whites[index]
    // The bit stream filter leaves the colors that ffmpeg writes into the container.
    let path = try TestMedia.path(
      "white_\(name)_outside.\(container)",
      [
        "-i", try Self.whiteFilm(name, color, transfer), "-c", "copy", "-bsf:v",
        "hevc_metadata=colour_primaries=2:transfer_characteristics=2:matrix_coefficients=2",
      ])
    let (format, frames) = try Self.frames(path, 3)
    #expect(format.pixelFormat == .i420 && format.colorMatrix == .bt709)
    #expect(frames.allSatisfy { abs(Int($0[160 * 90]) - 212) < 4 })
  }

  @Test(arguments: ["320x180", "640x360"])
  func `a color stays the same where later frames have another matrix`(size: String) throws {
    let clips = try [("320x180", "smpte170m"), (size, "bt709")].map { size, matrix in
      let path = try TestMedia.path(
        "lime_\(size)_\(matrix).ts",
        [
          "-f", "lavfi", "-i",
          "color=lime:s=\(size):r=25:d=1,format=rgb24,scale=out_color_matrix=\(matrix),format=yuv420p", "-c:v",
          "libx264", "-preset", "ultrafast", "-colorspace", matrix,
        ])
      return try Data(contentsOf: URL(filePath: path))
    }
    let path = try TestMedia.path("lime_\(size).ts", bytes: clips[0] + clips[1])
    let file = try DecodedFile(path) { frame in frame.withPlane(0) { Int($0[90 * frame.format.bytesPerRow[0] + 160]) } }
    // BT.601: Y = 16 + 0.587 × 219. In BT.709 it would be 173.
    #expect(file.frames.count > 45 && file.frames.allSatisfy { abs($0 - 145) < 5 }, "\(file.frames)")
  }

  @Test(arguments: [
    ("prores_ks", "yuva444p10le", "mov"), ("png", "rgba", "mov"), ("qtrle", "argb", "mov"),
    ("libvpx", "yuva420p", "webm"), ("libvpx-vp9", "yuva420p", "webm"),
  ])
  func `transparent pixels are black`(codec: String, pixels: String, container: String) throws {
    let path = try TestMedia.path(
      "alpha_\(codec).\(container)",
      [
        "-f", "lavfi", "-i", "color=white:s=64x64:r=10:d=1,format=rgba,geq=r=255:g=255:b=255:a='255*gt(X,31)'",
        "-c:v", codec, "-auto-alt-ref", "0", "-pix_fmt", pixels,
      ])
    let (format, frames) = try Self.frames(path, 3)
    #expect(format.pixelFormat == .bgra)
    for bytes in frames {
      let row = bytes[(32 * 64 * 4)...]
      let left = row.dropFirst(8 * 4).prefix(3)
      let right = row.dropFirst(56 * 4).prefix(3)
      #expect(left.allSatisfy { $0 < 5 } && right.allSatisfy { $0 > 250 }, "\(left) \(right)")
    }
  }
}
