import CLibav
import Foundation
import Media
import TestSupport
import Testing

@testable import MediaInput

/// Clips of MPEG-TS and MPEG-PS that were appended to each other, with other packet identifiers, programs or codecs in each.
@Suite("Files of joined clips with other streams", .timeLimit(.minutes(5)))
struct JoinedStreamsTests {
  /// Frames of one color and a tone.
  private static func clip(
    _ name: String, _ color: String, size: String, tone: Int, seconds: Int = 2, _ options: [String]
  ) throws -> Data {
    let path = try TestMedia.path(
      name,
      [
        "-f", "lavfi", "-i", "color=\(color):s=\(size):r=25:d=\(seconds)",
        "-f", "lavfi", "-i", "sine=\(tone):r=48000:d=\(seconds)",
        "-pix_fmt", "yuv420p", "-g", "25", "-threads", "1",
      ] + options)
    return try Data(contentsOf: URL(filePath: path))
  }

  private static func red(_ container: String = "ts") throws -> Data {
    let codecs = container == "ts" ? ["-c:v", "libx264", "-c:a", "aac"] : ["-c:v", "mpeg2video", "-c:a", "mp2"]
    return try Self.clip("joined-red.\(container)", "red", size: "160x96", tone: 440, codecs)
  }

  private static func lime(_ name: String, seconds: Int = 2, _ options: [String]) throws -> Data {
    try Self.clip(name, "lime", size: "320x192", tone: 880, seconds: seconds, options)
  }

  /// Frames of one color in succession, and the audio.
  private struct Played {
    struct Run {
      var color: String
      var count = 0
    }

    var runs: [Run] = []
    var audio: [AudioBlock] = []

    /// Reads a file to its end, or a number of frames of it, again and again.
    init(_ path: String, looped frameCount: Int? = nil) throws {
      let playback = try FileDecoder(
        path: path, isLooped: frameCount != nil, isConfined: false, interrupt: LibavInterrupt())
      var count = 0
      while frameCount.map({ count < $0 }) ?? true {
        if playback.advance(isLate: false) { continue }
        guard let next = playback.next else { break }
        switch next {
        case .audio: if let block = playback.dequeueAudio() { self.audio.append(block) }
        case .frame:
          guard let frame = playback.dequeueFrame() else { continue }
          count += 1
          let color = try Self.color(frame)
          if self.runs.last?.color != color { self.runs.append(Run(color: color)) }
          self.runs[self.runs.count - 1].count += 1
        }
      }
      #expect(playback.error == nil)
    }

    /// Name of the color in the center, of BT.601: red has Y = 81, lime 145.
    private static func color(_ frame: VideoFrame) throws -> String {
      let format = frame.format
      try #require(format.width == 160 && format.height == 96)
      let luma = frame.withPlane(0) { Int($0[48 * format.bytesPerRow[0] + 80]) }
      return abs(luma - 81) < 8 ? "red" : abs(luma - 145) < 8 ? "lime" : "Y = \(luma)"
    }

    /// Frequency in the seconds around a place of the audio.
    func tone(at seconds: ClosedRange<Double>) -> Double {
      guard let start = self.audio.first?.timestamp else { return 0 }
      return self.audio.filter { seconds.contains(($0.timestamp - start).seconds) }.tone()
    }

    var duration: Double { self.audio.reduce(MediaDuration.zero) { $0 + $1.duration }.seconds }
  }

  private static let h264 = ["-c:v", "libx264", "-c:a", "aac"]

  /// A second clip: the codecs of its video and audio, their identifiers, and options of the output.
  private struct Second {
    var name: String
    var video = "libx264"
    var audio = "aac"
    var identifiers = (video: 512, audio: 513)
    var options: [String] = []

    func bytes() throws -> Data {
      var options = ["-c:v", self.video, "-c:a", self.audio]
      options += ["-streamid", "0:\(self.identifiers.video)", "-streamid", "1:\(self.identifiers.audio)"]
      return try JoinedStreamsTests.lime("joined-\(self.name).ts", options + self.options)
    }
  }

  /// The identifiers of the first clip are 256 and 257, its program is 1.
  private static let clips: [Second] = [
    Second(name: "pids"),
    Second(name: "audio", identifiers: (256, 513)),
    Second(name: "video", identifiers: (512, 257)),
    Second(name: "program", options: ["-mpegts_service_id", "2"]),
    Second(name: "map", options: ["-mpegts_service_id", "2", "-mpegts_pmt_start_pid", "4352"]),
    Second(name: "codecs", video: "mpeg2video", audio: "mp2"),
    Second(name: "reordered", audio: "ac3", options: ["-bf", "3"]),
  ]

  @Test(arguments: Self.clips.indices)
  func `a clip with other packet identifiers, program or codecs follows the one before, with its audio`(
    index: Int
  ) throws {
    let clip = Self.clips[index]
    let bytes = try Self.red() + clip.bytes()
    let played = try Played(try TestMedia.path("joined-red-\(clip.name).ts", bytes: bytes))
    #expect(played.runs.map(\.color) == ["red", "lime"], "\(played.runs)")
    // libavformat holds the last packet of an identifier back up to the end of the file.
    #expect(played.runs.allSatisfy { (47...53).contains($0.count) }, "\(played.runs)")
    #expect(abs(played.tone(at: 0.2...1.5) - 440) < 5, "\(played.tone(at: 0.2...1.5)) Hz")
    #expect(abs(played.tone(at: 2.5...3.7) - 880) < 5, "\(played.tone(at: 2.5...3.7)) Hz")
    #expect(abs(played.duration - 4) < 0.4, "\(played.duration) s")
  }

  @Test(arguments: Self.clips.indices)
  func `each pass begins with the first clip`(index: Int) throws {
    let clip = Self.clips[index]
    let bytes = try Self.red() + clip.bytes()
    let played = try Played(try TestMedia.path("looped-red-\(clip.name).ts", bytes: bytes), looped: 260)
    #expect(played.runs.prefix(5).map(\.color) == ["red", "lime", "red", "lime", "red"], "\(played.runs)")
    #expect(played.runs.prefix(5).allSatisfy { (46...54).contains($0.count) }, "\(played.runs)")
    let second = played.tone(at: 4.5...5.5)
    #expect(abs(second - 440) < 5, "\(second) Hz")
  }

  @Test func `a clip that comes again behind another one is played twice`() throws {
    let (red, lime) = (try Self.red(), try Self.clips[0].bytes())
    let played = try Played(try TestMedia.path("joined-again.ts", bytes: red + lime + red))
    #expect(played.runs.map(\.color) == ["red", "lime", "red"], "\(played.runs)")
    #expect(abs(played.tone(at: 4.5...5.5) - 440) < 5, "\(played.tone(at: 4.5...5.5)) Hz")
  }

  @Test func `audio that was held back since the first clip moves nothing when that comes again`() throws {
    let codecs = ["-c:v", "libx264", "-c:a", "ac3"]
    let red = try Self.clip("joined-red-ac3.ts", "red", size: "160x96", tone: 440, codecs)
    let lime = try Self.lime(
      "joined-lime-ac3.ts", seconds: 5, codecs + ["-streamid", "0:512", "-streamid", "1:513"])
    let played = try Played(try TestMedia.path("joined-held.ts", bytes: red + lime + red))
    #expect(played.runs.map(\.color) == ["red", "lime", "red"], "\(played.runs)")
    #expect((170...180).contains(played.runs.prefix(2).reduce(0) { $0 + $1.count }), "\(played.runs)")
    #expect(abs(played.tone(at: 2.5...6.5) - 880) < 5, "\(played.tone(at: 2.5...6.5)) Hz")
    #expect(abs(played.tone(at: 7.4...8.6) - 440) < 5, "\(played.tone(at: 7.4...8.6)) Hz")
    #expect(abs(played.duration - 9) < 0.4, "\(played.duration) s")
  }

  @Test func `another video of the program that is played replaces it, and none of another program`() throws {
    func clip(
      _ name: String, _ color: String, size: String, tone: Int, delay: Double, _ identifier: Int
    ) throws -> Data {
      let path = try TestMedia.path(
        name,
        [
          "-itsoffset", "\(delay)", "-f", "lavfi", "-i", "color=\(color):s=\(size):r=25:d=2",
          "-f", "lavfi", "-i", "sine=\(tone):r=48000:d=2",
          "-f", "lavfi", "-i", "color=yellow:s=128x80:r=25:d=2", "-f", "lavfi", "-i", "sine=660:r=48000:d=2",
          "-map", "0", "-map", "1", "-map", "2", "-map", "3", "-program", "program_num=1:st=0:st=1",
          "-program", "program_num=2:st=2:st=3", "-streamid", "0:\(identifier)", "-pix_fmt", "yuv420p", "-g", "25",
          "-threads", "1",
        ] + Self.h264)
      return try Data(contentsOf: URL(filePath: path))
    }
    // Audio comes before the other video.
    let bytes =
      try clip("joined-programs-1.ts", "red", size: "160x96", tone: 440, delay: 0, 256)
      + clip("joined-programs-2.ts", "lime", size: "80x48", tone: 880, delay: 0.5, 512)
    let played = try Played(try TestMedia.path("joined-programs.ts", bytes: bytes))
    #expect(played.runs.map(\.color) == ["red", "lime"], "\(played.runs)")
    #expect(abs(played.tone(at: 0.2...1.5) - 440) < 5, "\(played.tone(at: 0.2...1.5)) Hz")
    #expect(abs(played.tone(at: 2.7...3.7) - 880) < 5, "\(played.tone(at: 2.7...3.7)) Hz")
  }

  /// A transport stream without its first tables, as one that was cut out of a broadcast: of programs, and the map of the first one.
  private static func withoutTables(_ clip: Data, count: Int) -> Data {
    var rest = Data()
    var seen: [Int: Int] = [:]
    for start in stride(from: 0, to: clip.count, by: 188) {
      let identifier = Int(clip[start + 1] & 0x1F) << 8 | Int(clip[start + 2])
      seen[identifier, default: 0] += 1
      if [0, 4_096].contains(identifier), seen[identifier, default: 0] <= count { continue }
      rest += clip[start..<start + 188]
    }
    return rest
  }

  @Test func `a clip that begins before its program map is played from the keyframe behind it on`() throws {
    // Four tables are 0.4 s.
    let bytes = try Self.red() + Self.withoutTables(Self.clips[0].bytes(), count: 4)
    let played = try Played(try TestMedia.path("joined-late-map.ts", bytes: bytes))
    #expect(played.runs.map(\.color) == ["red", "lime"], "\(played.runs)")
    #expect(played.runs.last?.count ?? 0 >= 20, "\(played.runs)")
    #expect(abs(played.tone(at: 2.5...3.4) - 880) < 5, "\(played.tone(at: 2.5...3.4)) Hz")
  }

  @Test func `audio of MPEG-PS that another codec replaces goes on`() throws {
    let options = ["-c:v", "mpeg2video", "-c:a", "ac3"]
    let bytes = try Self.red("mpg") + Self.lime("joined-ac3.mpg", seconds: 6, options)
    let played = try Played(try TestMedia.path("joined-codecs.mpg", bytes: bytes))
    #expect(played.runs.map(\.color) == ["red", "lime"], "\(played.runs)")
    #expect(abs(played.tone(at: 0.2...1.5) - 440) < 5, "\(played.tone(at: 0.2...1.5)) Hz")
    #expect(abs(played.tone(at: 2.5...7.5) - 880) < 5, "\(played.tone(at: 2.5...7.5)) Hz")
  }

  @Test func `audio of MPEG-PS goes on beside video of more than 16 MiB in three seconds`() throws {
    // Stuffing of 48 Mbit/s.
    let path = try TestMedia.path(
      "joined-large.mpg",
      [
        "-f", "lavfi", "-i", "color=lime:s=1920x1088:r=25:d=4", "-f", "lavfi", "-i", "sine=880:r=48000:d=4",
        "-pix_fmt", "yuv420p", "-g", "25", "-threads", "1", "-c:v", "mpeg2video", "-b:v", "48M", "-minrate", "48M",
        "-maxrate", "48M", "-bufsize", "2M", "-c:a", "ac3",
      ])
    let large = try Data(contentsOf: URL(filePath: path))
    try #require(large.count > 4 * (16 << 20) / 3)
    let played = try Played(try TestMedia.path("joined-large-codecs.mpg", bytes: try Self.red("mpg") + large))
    // Without the last block, which ends in silence.
    #expect(abs(played.tone(at: 2.5...4.8) - 880) < 5, "\(played.tone(at: 2.5...4.8)) Hz")
  }

  @Test func `audio of MPEG-PS whose codec changes while it is switched off is heard when it is switched on`() throws {
    let lime = try Self.lime("joined-off.mpg", seconds: 8, ["-c:v", "mpeg2video", "-c:a", "ac3"])
    let path = try TestMedia.path("joined-off-codecs.mpg", bytes: try Self.red("mpg") + lime)
    let playback = try FileDecoder(path: path, isLooped: false, isConfined: false, interrupt: LibavInterrupt())
    playback.setActive(video: true, audio: false)
    var audio: [AudioBlock] = []
    var isOn = false
    while true {
      if playback.advance(isLate: false) { continue }
      guard let next = playback.next else { break }
      switch next {
      case .audio: if let block = playback.dequeueAudio() { audio.append(block) }
      case .frame: _ = playback.dequeueFrame()
      }
      guard !isOn, next.time > 4_000_000_000 else { continue }
      playback.setActive(video: true, audio: true, at: next.time)
      isOn = true
    }
    #expect(isOn && playback.error == nil)
    // Five seconds are left, the first of which may be silent.
    let heard = audio.filter { $0.timestamp.nanoseconds > 6_000_000_000 }
    #expect(abs(heard.tone() - 880) < 5, "\(heard.tone()) Hz")
  }

  /// Kinds of tracks, the streams of which others would replace in the rest of a file.
  private static func replacedKinds(in file: MediaFile) throws -> Set<MediaKind> {
    var packet = av_packet_alloc()
    defer { av_packet_free(&packet) }
    let allocated = try #require(packet)
    var kinds: Set<MediaKind> = []
    while file.read(into: allocated) == 0 {
      let stream = Int(allocated.pointee.stream_index)
      if stream != file.videoStream, stream != file.audioStream, let kind = file.replacedKind(by: allocated) {
        kinds.insert(kind)
      }
      av_packet_unref(allocated)
    }
    return kinds
  }

  @Test func `no stream replaces another one while the tracks are opened`() throws {
    let path = try TestMedia.path("joined-opening.ts", bytes: try Self.red() + Self.clips[0].bytes())
    let file = try MediaFile(path: path, isConfined: false, interrupt: LibavInterrupt())
    file.select(video: 0, audio: 1)
    let early = try Self.replacedKinds(in: file)
    #expect(early == [])
    try file.rewind()
    file.continuesTracks = true
    let kinds = try Self.replacedKinds(in: file)
    #expect(kinds == [.video, .audio])
    #expect(throws: VidiconError.self) { _ = try file.stream(Int(file.context.pointee.nb_streams)) }
  }

  @Test func `a stream without a decoder is tried once in a pass`() throws {
    let path = try TestMedia.path("joined-refused.ts", bytes: try Self.red() + Self.clips[0].bytes())
    let file = try MediaFile(path: path, isConfined: false, interrupt: LibavInterrupt())
    file.select(video: 0, audio: 1)
    file.continuesTracks = true
    var packet = av_packet_alloc()
    defer { av_packet_free(&packet) }
    let allocated = try #require(packet)
    var count = 0
    while file.read(into: allocated) == 0 {
      let stream = Int(allocated.pointee.stream_index)
      if stream != file.videoStream, stream != file.audioStream, file.replacedKind(by: allocated) == .video {
        count += 1
        file.refuse(stream: stream)
      }
      // At packets of the other track.
      file.admitReplacements(of: .video)
      av_packet_unref(allocated)
    }
    #expect(count == 1)
  }

  @Test func `a second video of a program, beside one with seldom frames, is never played`() throws {
    let path = try TestMedia.path(
      "joined-slides.ts",
      [
        "-f", "lavfi", "-i", "color=red:s=160x96:r=25:d=16", "-f", "lavfi", "-i", "color=lime:s=96x64:r=25:d=16",
        "-map", "0", "-map", "1", "-filter:v:0", "fps=1/5", "-pix_fmt", "yuv420p", "-g", "1", "-c:v", "libx264",
      ])
    let file = try MediaFile(path: path, isConfined: false, interrupt: LibavInterrupt())
    file.select(video: 0, audio: nil)
    file.continuesTracks = true
    let kinds = try Self.replacedKinds(in: file)
    #expect(kinds == [])
  }

  @Test func `a language that was beside the one that is played goes on where only the former is left`() throws {
    let path = try TestMedia.path(
      "joined-languages.ts",
      [
        "-f", "lavfi", "-i", "color=red:s=160x96:r=25:d=2", "-f", "lavfi", "-i", "sine=440:r=48000:d=2", "-f", "lavfi",
        "-i", "sine=660:r=48000:d=2", "-map", "0", "-map", "1", "-map", "2", "-pix_fmt", "yuv420p", "-g", "25",
      ] + Self.h264)
    let lime = try Self.lime("joined-language.ts", Self.h264 + ["-streamid", "0:256", "-streamid", "1:258"])
    let bytes = try Data(contentsOf: URL(filePath: path)) + lime
    let played = try Played(try TestMedia.path("joined-one-language.ts", bytes: bytes))
    #expect(played.runs.map(\.color) == ["red", "lime"], "\(played.runs)")
    #expect(abs(played.tone(at: 0.2...1.5) - 440) < 5, "\(played.tone(at: 0.2...1.5)) Hz")
    #expect(abs(played.tone(at: 2.7...3.7) - 880) < 5, "\(played.tone(at: 2.7...3.7)) Hz")
  }
}
