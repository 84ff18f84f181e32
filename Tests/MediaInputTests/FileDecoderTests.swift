import Foundation
import Media
import TestSupport
import Testing

@testable import MediaInput

@Suite("Times of a file's tracks", .timeLimit(.minutes(5)))
struct FileDecoderTests {
  /// Options for clips that can be joined by appending their bytes.
  private static let options: [String: [String]] = [
    "flv": [], "mkv": ["-live", "1"],
  ]

  /// Clip that can be joined by appending its bytes.
  private static func clip(_ name: String, _ container: String, _ arguments: [String]) throws -> Data {
    let options = (Self.options[container] ?? []) + ["-c", "copy"]
    return try Data(contentsOf: URL(filePath: TestMedia.path("\(name).\(container)", arguments + options)))
  }

  /// The bytes of clips in one file. In FLV (version 10.1, annex E) each has a header of 9 bytes and the size of no tag.
  private static func joined(_ clips: [Data], _ container: String) -> Data {
    clips.dropFirst().reduce(clips[0]) { $0 + $1.dropFirst(container == "flv" ? 13 : 0) }
  }

  @Test(arguments: ["flv", "mkv"], [0, 60, 3_600])
  func `joined clips continue in sync, whether their clock jumps back or ahead`(container: String, offset: Int) throws {
    let input = try TestMedia.flashAndBeep()
    let first = try Self.clip("clip", container, ["-i", input])
    let next = try Self.clip("clip-\(offset)", container, ["-i", input, "-output_ts_offset", "\(offset)"])
    let path = try TestMedia.path("joined-\(offset).\(container)", bytes: Self.joined([first, next, next], container))
    let played = try PlayedFile(path)
    let (shown, beeps) = (flashes(of: played.frames), beginnings(of: played.blocks))
    try #require(
      shown.count == 3 && beeps.count == 3, "\(shown.count) flashes, \(beeps.count) beeps of \(played.frames.count)")
    for (index, (flash, beep)) in zip(shown, beeps).enumerated() {
      #expect(abs((flash - beep).nanoseconds) < 80_000_000, "\((flash - beep).seconds)")
      #expect(abs((flash - shown[0]).nanoseconds - Int64(index) * 1_000_000_000) < 200_000_000)
    }
  }

  @Test(arguments: ["flv", "mkv"]) func `each pass has all clips that were joined`(container: String) throws {
    let dark = try TestMedia.path(
      "dark.mp4",
      [
        "-f", "lavfi", "-i", "color=black:s=160x96:r=25:d=1", "-f", "lavfi", "-i", "aevalsrc=0:s=48000:d=1", "-pix_fmt",
        "yuv420p", "-preset", "ultrafast",
      ])
    let first = try Self.clip("clip", container, ["-i", try TestMedia.flashAndBeep()])
    let second = try Self.clip("clip-dark", container, ["-i", dark])
    let path = try TestMedia.path("dark-joined.\(container)", bytes: Self.joined([first, second], container))
    let played = try PlayedFile(path, loopedFor: .seconds(5))
    let (shown, beeps) = (flashes(of: played.frames), beginnings(of: played.blocks))
    #expect(shown.count == 3 && beeps.count == 3, "\(shown.count) flashes, \(beeps.count) beeps")
  }

  @Test(arguments: ["sparse.mkv", "sparse.mp4", "sparse.ts", "sparse-silent.mkv", "sparse-silent.ts"])
  func `frames that are twelve seconds apart keep their times, also after the audio has ended`(name: String) throws {
    let source = try TestMedia.path(
      "twelve.mkv",
      [
        "-f", "lavfi", "-i", "testsrc2=s=160x96:r=1:d=37", "-f", "lavfi", "-i", "sine=1000:d=1:r=48000", "-vf",
        "select='not(mod(n,12))'", "-fps_mode", "vfr", "-pix_fmt", "yuv420p", "-preset", "ultrafast", "-c:a", "aac",
      ])
    let options = name.hasPrefix("sparse-silent") ? ["-an"] : []
    let frames = try PlayedFile(try TestMedia.path(name, ["-i", source, "-c", "copy"] + options)).frames
    let first = try #require(frames.first)
    var changes: [Int64] = []
    var shown: [UInt8] = []
    for frame in frames where pixels(frame) != shown {
      shown = pixels(frame)
      changes.append((frame.timestamp - first.timestamp).nanoseconds)
    }
    try #require(changes.count == 4)
    for (index, time) in changes.enumerated() { #expect(abs(time - Int64(index) * 12_000_000_000) < 100_000_000) }
  }

  @Test func `audio is heard in sync that lies more than two seconds behind its video in the file`() throws {
    let input = try TestMedia.flashAndBeep()
    // Eight flashes, and their beeps two seconds late; then the timestamps alone are set back.
    let shifted = try TestMedia.path(
      "shifted.ts",
      [
        "-stream_loop", "7", "-i", input, "-itsoffset", "2", "-stream_loop", "7", "-i", input, "-map", "0:v", "-map",
        "1:a", "-c", "copy",
      ])
    let path = try TestMedia.path(
      "skewed.ts", ["-i", shifted, "-c", "copy", "-bsf:a", "setts=ts=TS-180000", "-max_interleave_delta", "1"])
    let played = try PlayedFile(path)
    let (shown, beeps) = (flashes(of: played.frames), beginnings(of: played.blocks))
    try #require(shown.count == 8 && beeps.count == 8)
    for (flash, beep) in zip(shown, beeps) {
      #expect(abs((flash - beep).nanoseconds) < 80_000_000, "\((flash - beep).seconds)")
    }
  }

  @Test(arguments: ["late-audio.ts", "late-audio.mpg"])
  func `audio that begins after the opening of its file has ended is silence until then`(name: String) throws {
    let codecs = name.hasSuffix(".ts") ? ["-c:v", "libx264", "-c:a", "aac"] : ["-c:v", "mpeg2video", "-c:a", "mp2"]
    let path = try TestMedia.path(
      name,
      [
        "-f", "lavfi", "-i", "color=lime:s=160x96:r=25:d=14", "-itsoffset", "12", "-f", "lavfi", "-i",
        "aevalsrc='0.5*sin(2*PI*1000*t)':s=44100:d=2", "-map", "0", "-map", "1", "-pix_fmt", "yuv420p", "-g", "25",
      ] + codecs)
    let played = try PlayedFile(path)
    let (frame, block) = (try #require(played.frames.first), try #require(played.blocks.first))
    #expect(played.frames.count >= 345)
    #expect(block.format == AudioFormat(sampleRate: 48_000, channelCount: 2))
    #expect(abs((block.timestamp - frame.timestamp).nanoseconds) < 50_000_000)
    let beeps = beginnings(of: played.blocks)
    try #require(beeps.count == 1)
    #expect(abs((beeps[0] - frame.timestamp).nanoseconds - 12_000_000_000) < 80_000_000)
    let duration = played.blocks.reduce(MediaDuration.zero) { $0 + $1.duration }
    #expect(abs(duration.nanoseconds - 14_000_000_000) < 200_000_000)
  }

  @Test(arguments: ["mkv", "flv"]) func `video that begins minutes after the audio is found`(container: String) throws {
    let path = try TestMedia.path(
      "minutes-late.\(container)",
      [
        "-itsoffset", "100", "-f", "lavfi", "-i", "testsrc2=s=64x48:r=25:d=2", "-f", "lavfi", "-i",
        "sine=440:r=44100:d=102", "-map", "0", "-map", "1", "-c:v", "libx264", "-preset", "ultrafast", "-bf", "3",
        "-pix_fmt", "yuv420p", "-c:a", "aac", "-b:a", "32k",
      ])
    let file = try DecodedFile(path) { $0.timestamp }
    let (frame, block) = (try #require(file.frames.first), try #require(file.audio.first))
    #expect(abs((frame - block.timestamp).nanoseconds - 100_000_000_000) < 200_000_000)
    #expect(file.frames.count == 50)
    let duration = file.audio.reduce(MediaDuration.zero) { $0 + $1.duration }
    #expect(abs(duration.nanoseconds - 102_000_000_000) < 200_000_000)
  }

  /// Seconds of the tracks of a file.
  struct Lengths: Sendable {
    var video: Int64
    var audio: Int64
  }

  @Test(arguments: ["mp4", "ts", "mkv"], [Lengths(video: 1, audio: 4), Lengths(video: 4, audio: 1)])
  func `a file lasts as long as its longer track, with its last frame or with silence`(
    container: String, lengths: Lengths
  ) throws {
    let path = try TestMedia.path(
      "lengths-\(lengths.video)-\(lengths.audio).\(container)",
      [
        "-f", "lavfi", "-i", "color=lime:s=160x96:r=25:d=\(lengths.video)", "-f", "lavfi", "-i",
        "sine=440:r=48000:d=\(lengths.audio)", "-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-c:a",
        "aac",
      ])
    let playback = try FileDecoder(path: path, isLooped: false, isConfined: false, interrupt: LibavInterrupt())
    while playback.advance(isLate: false) {}
    let first = try #require(playback.next).time
    playback.begin(at: first)
    var ends: [MediaKind: Int64] = [:]
    while let next = playback.next {
      // Either end is one of the recording.
      #expect(!playback.isVideoEnded && !playback.isAudioEnded)
      switch next {
      case .frame:
        if let frame = playback.dequeueFrame() { ends[.video] = frame.timestamp.nanoseconds + 40_000_000 - first }
      case .audio:
        if let block = playback.dequeueAudio() {
          ends[.audio] = (block.timestamp + block.duration).nanoseconds - first
        }
      }
      while playback.advance(isLate: false) {}
    }
    #expect(playback.isVideoEnded && playback.isAudioEnded)
    for kind in MediaKind.allCases {
      let end = try #require(ends[kind])
      #expect(abs(end - 4_000_000_000) < 250_000_000, "\(kind): \(end) ns")
    }
  }

  /// A file of MP4 with other edit lists in its tracks: durations, and places in the media, in seconds.
  private static func edited(_ file: ArraySlice<UInt8>, _ edits: [(duration: Double, start: Double)]) -> [UInt8] {
    func number(_ place: Int) -> Int { file[place..<place + 4].reduce(0) { $0 << 8 | Int($1) } }
    func bytes(_ value: Int) -> [UInt8] { withUnsafeBytes(of: UInt32(value).bigEndian, Array.init) }
    func box(_ type: some Sequence<UInt8>, _ content: [UInt8]) -> [UInt8] { bytes(content.count + 8) + type + content }
    func rebuilt(_ range: Range<Int>, timescale: Int) -> [UInt8] {
      var (result, place) = ([UInt8](), range.lowerBound)
      while place < range.upperBound {
        let (end, type) = (place + number(place), file[place + 4..<place + 8])
        defer { place = end }
        switch String(decoding: type, as: UTF8.self) {
        case "moov", "trak":
          // In `mdhd`, behind the version and two times.
          let header = file[place..<end].firstRange(of: Array("mdhd".utf8))?.lowerBound
          let inner = rebuilt(place + 8..<end, timescale: header.map { number($0 + 16) } ?? 0)
          result += box(type, inner)
        case "edts":
          let entries = edits.flatMap {
            bytes(Int($0.duration * 1000)) + bytes(Int($0.start * Double(timescale))) + bytes(0x1_0000)
          }
          result += box(type, box(Array("elst".utf8), bytes(0) + bytes(edits.count) + entries))
        default: result += file[place..<end]
        }
      }
      return result
    }
    return rebuilt(file.startIndex..<file.endIndex, timescale: 0)
  }

  @Test func `edits that begin amid a group keep video and audio in sync`() throws {
    let base = try TestMedia.path(
      "eight-flashes.mp4",
      [
        "-stream_loop", "7", "-i", try TestMedia.flashAndBeep(), "-c:v", "libx264", "-pix_fmt", "yuv420p", "-bf", "0",
        "-g",
        "100", "-sc_threshold", "0", "-c:a", "aac",
      ])
    let file = [UInt8](try Data(contentsOf: URL(filePath: base)))
    let edits = [(duration: 2.0, start: 0.0), (duration: 2.0, start: 5.48)]
    let path = try TestMedia.path("edits.mp4", bytes: Data(Self.edited(file[...], edits)))
    let played = try PlayedFile(path)
    let (shown, beeps) = (flashes(of: played.frames), beginnings(of: played.blocks))
    try #require(shown.count == 4 && beeps.count == 4, "\(shown.count) flashes, \(beeps.count) beeps")
    for (flash, beep) in zip(shown, beeps) {
      #expect(abs((flash - beep).nanoseconds) < 80_000_000, "\((flash - beep).seconds)")
    }
  }
}
