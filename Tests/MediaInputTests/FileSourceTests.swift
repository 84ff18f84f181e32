import Capture
import Foundation
import Media
import MediaInput
import TestSupport
import Testing
import Threading

@Suite("File source", .timeLimit(.minutes(5)))
struct FileSourceTests {
  @Test func `video and audio continue through the loop without a jump, and stay in sync`() throws {
    let source = try FileSource(path: TestMedia.flashAndBeep())
    let video = try #require(source.video)
    let audio = try #require(source.audio)
    #expect(video.format.width == 160 && video.format.height == 96 && video.format.pixelFormat == .i420)
    #expect(video.format.frameRate == FrameRate(25))
    #expect(audio.format == AudioFormat(sampleRate: 48_000, channelCount: 1))
    let videoCollector = FrameCollector(keep: 65)
    let audioCollector = AudioCollector()
    let started = StreamClock.system.now()
    try video.start(consumer: videoCollector)
    try audio.start(consumer: audioCollector)
    let frames = videoCollector.frames(65)
    let ended = StreamClock.system.now()
    let blocks = audioCollector.blocks(samples: 48_000 * 5 / 2)
    video.stop()
    audio.stop()
    try #require(frames.count == 65)

    #expect(ended - started > .milliseconds(64 * 40))
    for (frame, next) in zip(frames, frames.dropFirst()) {
      #expect(frame.format == video.format)
      #expect(abs((next.timestamp - frame.timestamp).nanoseconds - 40_000_000) < 1_000)
    }
    for (block, next) in zip(blocks, blocks.dropFirst()) {
      #expect(abs((next.timestamp - block.timestamp - block.duration).nanoseconds) < 1_000)
    }
    let flashes = frames.filter { pixels($0)[80 * 160 + 80] > 200 }.map(\.timestamp)
    let beeps = beginnings(of: blocks)
    #expect(flashes.count == 3)
    #expect(beeps.count >= 2)
    for beep in beeps {
      #expect(flashes.contains { abs(($0 - beep).nanoseconds) < 21_000_000 } || beep > frames[64].timestamp)
    }
    #expect(source.corruptPacketCount == 0)
  }

  @Test(arguments: ["offset.mkv", "offset.mp4", "offset.ts", "offset.flv"])
  func `the offset between the tracks is the file's, and silence precedes audio that begins late`(
    name: String
  ) throws {
    // Audio is delayed by half a second, so the beep comes 0.5 s after the flash.
    let input = try TestMedia.flashAndBeep()
    let path = try TestMedia.path(
      name, ["-i", input, "-itsoffset", "0.5", "-i", input, "-map", "0:v", "-map", "1:a", "-c", "copy"])
    let source = try FileSource(path: path)
    let videoCollector = FrameCollector(keep: 30)
    let audioCollector = AudioCollector()
    let started = StreamClock.system.now()
    try #require(source.video).start(consumer: videoCollector)
    try #require(source.audio).start(consumer: audioCollector)
    // Audio is missed in this time.
    let pause = StreamClock.system.now() - started
    let frames = videoCollector.frames(30)
    let blocks = audioCollector.blocks(samples: 55_000)
    source.video?.stop()
    source.audio?.stop()
    let flash = try #require(frames.first { pixels($0)[80 * 160 + 80] > 200 }?.timestamp)
    let beep = try #require(beginnings(of: blocks).first)
    #expect(abs((beep - flash).nanoseconds - 500_000_000) < 30_000_000)
    let first = try #require(blocks.first)
    // Safe because the bound grows with the time that has passed.
    #expect(abs((first.timestamp - frames[0].timestamp).nanoseconds) < 150_000_000 + pause.nanoseconds)
  }

  @Test(arguments: ["late.mkv", "late.mp4", "late.ts", "late.flv"])
  func `audio before the video is heard, over black, however late the video begins`(name: String) throws {
    let input = try TestMedia.flashAndBeep()
    let path = try TestMedia.path(
      name,
      [
        "-itsoffset", "2", "-i", input, "-stream_loop", "2", "-i", input, "-map", "0:v", "-map", "1:a", "-c", "copy",
      ])
    let source = try FileSource(path: path, loop: false)
    let (videoCollector, audioCollector) = (FrameCollector(keep: 100), AudioCollector())
    try #require(source.video).start(consumer: videoCollector)
    try #require(source.audio).start(consumer: audioCollector)
    #expect(audioCollector.end() == .some(.none))
    #expect(videoCollector.end() == .some(.none))
    let frames = videoCollector.frames(1)
    let beeps = beginnings(of: audioCollector.blocks(samples: 1))
    source.video?.stop()
    source.audio?.stop()
    try #require(beeps.count == 3)
    let flash = try #require(frames.first { pixels($0)[80 * 160 + 80] > 200 }?.timestamp)
    // The flash is at 0.4 s of the video, as the beep is of the audio.
    #expect(abs((flash - beeps[2]).nanoseconds) < 45_000_000, "\((flash - beeps[2]).seconds)")
    let first = try #require(frames.first)
    #expect(first.timestamp <= beeps[0] && frames.count > 60 && pixels(first)[80 * 160 + 80] == 16)
  }

  @Test func `clips that were joined continue, and stay in sync`() throws {
    let clip = try TestMedia.path("clip.ts", ["-i", try TestMedia.flashAndBeep(), "-c", "copy"])
    let bytes = try Data(contentsOf: URL(filePath: clip))
    let path = try TestMedia.path("joined.ts", bytes: bytes + bytes + bytes)
    let source = try FileSource(path: path, loop: false)
    let (videoCollector, audioCollector) = (FrameCollector(keep: 100), AudioCollector())
    try #require(source.video).start(consumer: videoCollector)
    try #require(source.audio).start(consumer: audioCollector)
    #expect(videoCollector.end() == .some(.none))
    #expect(audioCollector.end() == .some(.none))
    source.video?.stop()
    source.audio?.stop()
    let shown = flashes(of: videoCollector.frames(1))
    let beeps = beginnings(of: audioCollector.blocks(samples: 1))
    try #require(shown.count == 3 && beeps.count == 3)
    for (flash, beep) in zip(shown, beeps) {
      #expect(abs((flash - beep).nanoseconds) < 80_000_000, "\((flash - beep).seconds)")
    }
  }

  @Test func `audio-only files play at their own rate with at most two channels, and cover art is not video`() throws {
    let cover = try TestMedia.path("cover.png", ["-f", "lavfi", "-i", "color=red:s=32x32", "-frames:v", "1"])
    let cases: [(String, [String], AudioFormat)] = [
      ("mono.wav", ["-ar", "8000", "-ac", "1"], AudioFormat(sampleRate: 8_000, channelCount: 1)),
      ("stereo.flac", ["-ar", "44100", "-ac", "2"], AudioFormat(sampleRate: 44_100, channelCount: 2)),
      ("surround.mka", ["-ar", "48000", "-ac", "6", "-c:a", "aac"], AudioFormat(sampleRate: 48_000, channelCount: 2)),
      (
        "cover.mp3", ["-i", cover, "-map", "0", "-map", "1", "-disposition:v", "attached_pic", "-ar", "44100"],
        AudioFormat(sampleRate: 44_100, channelCount: 1)
      ),
    ]
    for (name, options, format) in cases {
      let path = try TestMedia.path(name, ["-f", "lavfi", "-i", "sine=440:d=0.6"] + options)
      let source = try FileSource(path: path)
      #expect(source.video == nil)
      let audio = try #require(source.audio)
      #expect(audio.format == format)
      let audioCollector = AudioCollector()
      try audio.start(consumer: audioCollector)
      let blocks = audioCollector.blocks(samples: format.sampleRate)
      audio.stop()
      for (block, next) in zip(blocks, blocks.dropFirst()) {
        #expect(abs((next.timestamp - block.timestamp - block.duration).nanoseconds) < 1_000)
      }
      #expect(blocks.flatMap(\.samples).contains { $0 > 0.05 })
      #expect(blocks.allSatisfy { $0.samples.allSatisfy { abs($0) <= 1.01 } })
    }
  }

  @Test func `audio shorter than the video is followed by silence up to the loop`() throws {
    let path = try TestMedia.path(
      "short-audio.mp4",
      [
        "-f", "lavfi", "-i", "testsrc2=s=64x48:r=25:d=2.4", "-f", "lavfi", "-i", "sine=1000:d=0.4:r=48000",
        "-pix_fmt", "yuv420p",
      ])
    let source = try FileSource(path: path)
    let videoCollector = FrameCollector(keep: 0)
    let audioCollector = AudioCollector()
    try #require(source.video).start(consumer: videoCollector)
    try #require(source.audio).start(consumer: audioCollector)
    let blocks = audioCollector.blocks(samples: 48_000 * 13 / 5)
    source.video?.stop()
    source.audio?.stop()
    for (block, next) in zip(blocks, blocks.dropFirst()) {
      #expect(abs((next.timestamp - block.timestamp - block.duration).nanoseconds) < 1_000)
    }
    let samples = blocks.flatMap(\.samples)
    #expect(samples[4_800..<14_400].contains { abs($0) > 0.05 })
    #expect(samples[28_800..<96_000].allSatisfy { $0 == 0 })
    #expect(samples[(48_000 * 5 / 2)...].contains { abs($0) > 0.05 })
  }

  @Test func `the last frame of video shorter than the audio stays up to the loop`() throws {
    let path = try TestMedia.path(
      "short-video.mp4",
      [
        "-f", "lavfi", "-i", "testsrc2=s=64x48:r=25:d=0.2", "-f", "lavfi", "-i", "sine=1000:d=2.2:r=48000",
        "-pix_fmt", "yuv420p",
      ])
    let source = try FileSource(path: path)
    let videoCollector = FrameCollector(keep: 70)
    let audioCollector = AudioCollector()
    try #require(source.video).start(consumer: videoCollector)
    try #require(source.audio).start(consumer: audioCollector)
    let frames = videoCollector.frames(70)
    source.video?.stop()
    source.audio?.stop()
    for (frame, next) in zip(frames, frames.dropFirst()) {
      #expect(next.timestamp > frame.timestamp)
      #expect(onQuietMachine(next.timestamp - frame.timestamp <= .milliseconds(600)))
    }
    #expect(frames.last.map { $0.timestamp - frames[0].timestamp > .milliseconds(1_500) } == true)
  }

  @Test func `without a loop both tracks end, and a new start plays from the beginning`() throws {
    let source = try FileSource(path: TestMedia.flashAndBeep(), loop: false)
    let video = try #require(source.video)
    let audio = try #require(source.audio)
    for _ in 0..<2 {
      let videoCollector = FrameCollector()
      let audioCollector = AudioCollector()
      let started = StreamClock.system.now()
      try video.start(consumer: videoCollector)
      try audio.start(consumer: audioCollector)
      // Audio is missed in this time.
      let missed = Int((StreamClock.system.now() - started).seconds * 48_000)
      #expect(videoCollector.end() == .some(.none))
      #expect(audioCollector.end() == .some(.none))
      #expect(video.isStarted && audio.isStarted)
      video.stop()
      audio.stop()
      #expect(!video.isStarted && !audio.isStarted)
      #expect(videoCollector.frames(1).count == 25)
      #expect(audioCollector.blocks(samples: 1).reduce(0) { $0 + $1.sampleCount } >= 40_000 - missed)
    }
  }

  @Test func `one track can be stopped and started while the other one continues`() throws {
    let source = try FileSource(path: TestMedia.flashAndBeep())
    let video = try #require(source.video)
    let audio = try #require(source.audio)
    let videoCollector = FrameCollector(keep: 1_000)
    try video.start(consumer: videoCollector)
    _ = videoCollector.frames(3)
    let audioCollector = AudioCollector()
    try audio.start(consumer: audioCollector)
    _ = audioCollector.blocks(samples: 9_600)
    audio.stop()
    let count = audioCollector.state.withLock { $0.blocks.count }
    let shown = videoCollector.frames(1).count
    #expect(videoCollector.frames(shown + 5).count >= shown + 5)
    #expect(audioCollector.state.withLock { $0.blocks.count } == count)
    try audio.start(consumer: audioCollector)
    #expect(audioCollector.blocks(samples: 30_000).count > count)
    video.stop()
    let stopped = videoCollector.frames(1).count
    let heard = audioCollector.blocks(samples: 1).reduce(0) { $0 + $1.sampleCount }
    _ = audioCollector.blocks(samples: heard + 9_600)
    #expect(videoCollector.frames(1).count == stopped)
    audio.stop()
    let times = videoCollector.frames(1).map(\.timestamp)
    #expect(zip(times, times.dropFirst()).allSatisfy { abs(($1 - $0).nanoseconds - 40_000_000) < 1_000 })
  }

  @Test func `video started shortly after the audio misses no keyframe`() throws {
    let source = try FileSource(path: TestMedia.flashAndBeep("long.mp4", ["-af", "apad=whole_dur=30"]))
    let audioCollector = AudioCollector()
    let videoCollector = FrameCollector(keep: 1)
    try #require(source.audio).start(consumer: audioCollector)
    let first = try #require(audioCollector.blocks(samples: 2_400).first)
    try #require(source.video).start(consumer: videoCollector)
    let frame = try #require(videoCollector.frames(1).first)
    source.video?.stop()
    source.audio?.stop()
    #expect(onQuietMachine(frame.timestamp - first.timestamp < .seconds(1)))
  }

  @Test func `audio started long after a single frame begins at once`() throws {
    let image = try TestMedia.path("one.png", ["-f", "lavfi", "-i", "color=red:s=32x32", "-frames:v", "1"])
    let path = try TestMedia.path(
      "one-frame.mkv",
      ["-i", image, "-f", "lavfi", "-i", "sine=1000:d=0.3:r=48000", "-c:v", "png", "-map", "0", "-map", "1"])
    let source = try FileSource(path: path)
    let videoCollector = FrameCollector(keep: 0)
    try #require(source.video).start(consumer: videoCollector)
    // One second with both tracks, then the frame alone.
    _ = videoCollector.frames(40)
    let audioCollector = AudioCollector()
    let started = StreamClock.system.now()
    try #require(source.audio).start(consumer: audioCollector)
    let blocks = audioCollector.blocks(samples: 9_600)
    source.video?.stop()
    source.audio?.stop()
    #expect(try #require(blocks.first).timestamp >= started)
    #expect(blocks.flatMap(\.samples).contains { abs($0) > 0.05 })
  }

  @Test func `a consumer may stop both tracks while it processes a frame, and they can be started again`() throws {
    let source = try FileSource(path: TestMedia.flashAndBeep())
    let video = try #require(source.video)
    let audio = try #require(source.audio)
    for _ in 0..<3 {
      let audioCollector = AudioCollector()
      let hasStopped = Monitor(false)
      let videoCollector = FrameCollector { count in
        if count == 3 {
          audio.stop()
          video.stop()
          hasStopped.withLock { $0 = true }
        }
      }
      try audio.start(consumer: audioCollector)
      try video.start(consumer: videoCollector)
      let stop: Void? = hasStopped.wait(until: StreamClock.system.now() + .seconds(300)) { $0 ? () : nil }
      #expect(stop != nil)
      // Safe because none comes.
      #expect(videoCollector.frames(4, within: 1).count == 3)
      #expect(!video.isStarted && !audio.isStarted)
    }
  }

  @Test func `a released source ends its thread`() throws {
    weak var kept: FrameCollector?
    do {
      let source = try FileSource(path: TestMedia.flashAndBeep())
      let videoCollector = FrameCollector(keep: 1)
      kept = videoCollector
      try source.video?.start(consumer: videoCollector)
      _ = videoCollector.frames(2)
    }
    #expect(kept == nil)
  }

  /// A film whose track of positional audio, which nothing decodes, comes before AAC or behind it.
  private static func phoneFilm(_ name: String, isFirst: Bool) throws -> String {
    let maps = isFirst ? ["-map", "2:a", "-map", "1:a"] : ["-map", "1:a", "-map", "2:a"]
    let plain = try TestMedia.path(
      "plain_\(name)",
      ["-f", "lavfi", "-i", "color=lime:size=160x96:rate=25", "-f", "lavfi", "-i", "sine=440:sample_rate=48000"]
        + ["-f", "lavfi", "-i", "sine=880:sample_rate=44100", "-map", "0:v"] + maps + [
          "-t", "1", "-c:a", "aac", "-b:a", "384k",
        ])
    var bytes = try Data(contentsOf: URL(filePath: plain))
    let entries = bytes.ranges(of: Data("mp4a".utf8))
    try #require(entries.count == 2)
    bytes.replaceSubrange(entries[isFirst ? 0 : 1], with: Data("apac".utf8))
    let boxes = bytes.ranges(of: Data("esds".utf8))
    bytes.replaceSubrange(boxes[isFirst ? 0 : 1], with: Data("dapa".utf8))
    return try TestMedia.path(name, bytes: bytes)
  }

  @Test(arguments: [true, false]) func `audio that can be decoded is played beside audio that cannot`(isFirst: Bool)
    throws
  {
    let source = try FileSource(path: try Self.phoneFilm("phone_\(isFirst).mp4", isFirst: isFirst))
    #expect(source.video != nil && source.audio?.format.sampleRate == 48_000)
    #expect(source.failure(of: .audio) == nil)
  }

  @Test(arguments: [true, false]) func `video that can be decoded is played instead of larger video that cannot`(
    loop: Bool
  ) throws {
    let plain = try TestMedia.path(
      "two.mp4",
      [
        "-f", "lavfi", "-i", "color=red:s=320x180:r=25:d=1", "-f", "lavfi", "-i", "color=lime:s=160x96:r=25:d=1",
        "-f", "lavfi", "-i", "sine=440:sample_rate=48000:d=1", "-map", "0", "-map", "1", "-map", "2", "-pix_fmt",
        "yuv420p", "-preset", "ultrafast", "-c:a", "aac",
      ])
    var bytes = try Data(contentsOf: URL(filePath: plain))
    // The last two are the sample entries: the brand of the file comes before them.
    let entry = try #require(bytes.ranges(of: Data("avc1".utf8)).suffix(2).first)
    bytes.replaceSubrange(entry, with: Data("vp09".utf8))
    let configuration = try #require(bytes.range(of: Data("avcC".utf8)))
    bytes.replaceSubrange(configuration, with: Data("xxxC".utf8))
    let source = try FileSource(path: try TestMedia.path("two-\(loop).mp4", bytes: bytes), loop: loop)
    #expect(source.video?.format.width == 160 && source.audio != nil)
    #expect(source.failure(of: .video) == nil)
    let collector = FrameCollector(keep: 5)
    try #require(source.video).start(consumer: collector)
    let frames = collector.frames(5)
    source.video?.stop()
    #expect(frames.count == 5)
  }

  /// Longer than the minute in which a first frame is searched, of which libavformat has read the beginning alone.
  @Test(arguments: [true, false]) func `the next video of a film of more than a minute is played from its start`(
    hasAudio: Bool
  ) throws {
    let audio = ["-f", "lavfi", "-i", "aevalsrc='0.5*sin(2*PI*1000*t)*between(t,65,65.1)':s=48000:d=70"]
    let plain = try TestMedia.path(
      "long-two-\(hasAudio).mp4",
      [
        "-f", "lavfi", "-i", "color=red:s=320x180:r=5:d=70", "-f", "lavfi", "-i",
        "color=black:s=160x96:r=5:d=70,drawbox=c=white:t=fill:enable='between(t,64.9,65.1)'",
      ] + (hasAudio ? audio : []) + ["-map", "0", "-map", "1"] + (hasAudio ? ["-map", "2", "-c:a", "aac"] : [])
        + ["-pix_fmt", "yuv420p", "-preset", "ultrafast"])
    var bytes = try Data(contentsOf: URL(filePath: plain))
    // As above: the decoder of the larger video opens, and decodes nothing.
    let entry = try #require(bytes.ranges(of: Data("avc1".utf8)).suffix(2).first)
    bytes.replaceSubrange(entry, with: Data("vp09".utf8))
    let configuration = try #require(bytes.range(of: Data("avcC".utf8)))
    bytes.replaceSubrange(configuration, with: Data("xxxC".utf8))
    let played = try PlayedFile(try TestMedia.path("long-\(hasAudio).mp4", bytes: bytes))
    #expect(played.frames.count == 350 && played.frames.allSatisfy { $0.format.width == 160 })
    let (first, flashes) = (try #require(played.frames.first), flashes(of: played.frames))
    try #require(flashes.count == 1)
    #expect(abs((flashes[0] - first.timestamp).nanoseconds - 65_000_000_000) < 210_000_000)
    guard hasAudio else { return }
    let beeps = beginnings(of: played.blocks)
    try #require(beeps.count == 1)
    #expect(abs((beeps[0] - flashes[0]).nanoseconds) < 210_000_000)
  }

  @Test func `a track that cannot be decoded takes nothing from the other one, and is named`() throws {
    var bytes = try Data(contentsOf: URL(filePath: try TestMedia.flashAndBeep()))
    for box in [("avc1", "xxxx"), ("avcC", "xxxC")] {
      for range in bytes.ranges(of: Data(box.0.utf8)).reversed() where bytes[range].count == 4 {
        bytes.replaceSubrange(range, with: Data(box.1.utf8))
      }
    }
    let source = try FileSource(path: try TestMedia.path("no_video_decoder.mp4", bytes: bytes))
    #expect(source.video == nil && source.audio != nil)
    #expect(source.failure(of: .video)?.cause.contains("decod") == true)
  }
}
