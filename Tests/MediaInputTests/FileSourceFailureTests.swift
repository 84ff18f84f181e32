import Capture
import Foundation
import Media
import MediaInput
import TestSupport
import Testing
import Threading

@Suite("Missing and damaged files as sources", .timeLimit(.minutes(5)))
struct FileSourceFailureTests {
  @Test func `an unusable path is reported with its cause and a next step`() throws {
    let folder = TestMedia.folder.path
    let cases: [(String, VidiconError.Code, String)] = [
      ("\(folder)/missing.mp4", .notFound, "there is no such file"),
      ("/", .invalidData, "it is a directory"),
      (try TestMedia.path("empty.mp4", bytes: Data()), .invalidData, "not a media file"),
      (try TestMedia.path("text.mp4", bytes: Data("hello".utf8)), .invalidData, "not a media file"),
      (
        try TestMedia.path("words.srt", bytes: Data("1\n00:00:00,000 --> 00:00:01,000\nhello\n\n".utf8)), .missingTrack,
        "neither video nor audio"
      ),
      ("nonsense://host/file", .invalidSpecification, "protocol"),
      ("", .invalidSpecification, "no path"),
    ]
    for (path, code, cause) in cases {
      let error = #expect(throws: VidiconError.self) { try FileSource(path: path) }
      #expect(error?.code == code, "\(path)")
      #expect(error?.cause.contains(cause) == true, "\(path): \(error?.cause ?? "")")
      #expect(error?.nextStep.isEmpty == false)
    }
  }

  @Test func `an animated WebP file is refused by its format, and not for a player that fails too`() throws {
    let path = try TestMedia.path(
      "animated.webp", ["-f", "lavfi", "-i", "testsrc=s=160x96:r=5:d=1", "-c:v", "libwebp_anim"])
    let error = #expect(throws: VidiconError.self) { try FileSource(path: path) }
    #expect(error?.code == .unsupported && error?.cause.contains("WebP") == true, "\(error?.cause ?? "")")
    #expect(error?.nextStep.contains("ffplay") == false)
  }

  @Test func `a path that looks like a URL is a file name when the file exists`() throws {
    let good = try Data(contentsOf: URL(fileURLWithPath: TestMedia.flashAndBeep()))
    let path = try TestMedia.path("12:30.mp4", bytes: good)
    #expect(try FileSource(path: path).video != nil)
  }

  @Test(arguments: ["damaged.ts", "damaged.mp4", "damaged.mkv"])
  func `damaged parts are skipped and counted, and the rest is played`(name: String) throws {
    let path = try TestMedia.flashAndBeep("good-" + name)
    var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    var state: UInt32 = 1
    // Damages the second quarter: headers are at the start, the index of an MP4 file at the end.
    for index in bytes.count / 4..<bytes.count / 2 where index % 7 == 0 {
      state = state &* 1_664_525 &+ 1_013_904_223
      bytes[index] = UInt8(truncatingIfNeeded: state >> 24)
    }
    let frames = try firstFrames(of: TestMedia.path(name, bytes: bytes), count: 30)
    #expect(frames.count == 30)
    #expect(zip(frames, frames.dropFirst()).allSatisfy { $0.timestamp < $1.timestamp })
  }

  @Test func `a truncated file fails to open before its tracks, and plays with half of its media`() throws {
    let bytes = try Data(contentsOf: URL(fileURLWithPath: TestMedia.flashAndBeep("whole.mkv")))
    // Matroska, RFC 9559 §5.1: identifiers of the elements Cluster and Tracks; the seek head names the latter before.
    let media = try #require(bytes.range(of: Data([0x1F, 0x43, 0xB6, 0x75]))).lowerBound
    let tracks = try #require(bytes.range(of: Data([0x16, 0x54, 0xAE, 0x6B]), options: .backwards, in: 0..<media))
      .lowerBound
    let playable = media + (bytes.count - media) / 2
    for part in [0, 4, tracks / 2, tracks] + stride(from: tracks, to: bytes.count, by: max(bytes.count / 23, 1)) {
      let path = try TestMedia.path("cut.mkv", bytes: bytes.prefix(part))
      do {
        let source = try FileSource(path: path)
        #expect(part > tracks, "\(part) bytes were opened")
        #expect(source.video != nil || part < playable, "\(part) bytes have no video")
        let videoCollector = FrameCollector(keep: 1)
        try source.video?.start(consumer: videoCollector)
        if part >= playable { #expect(videoCollector.frames(2).count == 1, "\(part) bytes") }
        source.video?.stop()
      } catch {
        #expect(part < playable, "\(part) of \(bytes.count) bytes: \(error)")
        #expect([.invalidData, .failed, .missingTrack].contains(error.code), "\(part) bytes: \(error)")
        if part == 0 { #expect(error.code == .invalidData) }
      }
    }
  }

  @Test func `a file that is replaced by garbage while it plays ends with an error`() throws {
    let good = try Data(contentsOf: URL(fileURLWithPath: TestMedia.flashAndBeep("good.ts")))
    let path = try TestMedia.path("vanishing.ts", bytes: good)
    let source = try FileSource(path: path)
    let videoCollector = FrameCollector(keep: 0)
    try source.video?.start(consumer: videoCollector)
    _ = videoCollector.frames(3)
    try FileManager.default.removeItem(atPath: path)
    let error = videoCollector.end()
    source.video?.stop()
    #expect(error??.code == .notFound)
  }
}
