import Containers
import Foundation
import Media
import NIOCore
import TestSupport
import Testing

@testable import Recording

@Suite("Recorder, with encoded samples and ffmpeg")
struct RecorderTests {
  private let stream: EncodedStream

  init() throws { self.stream = try EncodedStream.shared.get() }

  /// Samples that arrive between two times, in seconds; audio arrives 70 ms late.
  private func arriving(_ from: Double, _ to: Double) -> [EncodedSample] {
    let (from, to) = (EncodedStream.time(from), EncodedStream.time(to))
    return self.stream.samples.filter {
      let arrival = EncodedStream.arrival($0)
      return from <= arrival && arrival < to
    }
  }

  /// Samples that arrive at `from` or later and were captured before `to`.
  private func samples(_ from: Double, _ to: Double) -> [EncodedSample] {
    let (from, to) = (EncodedStream.time(from), EncodedStream.time(to))
    return self.stream.samples.filter { EncodedStream.arrival($0) >= from && $0.presentationTime < to }
  }

  @Test func `a stopped recording is one progressive file with correct durations and metadata`() async throws {
    try await withTemporaryFolder { folder in
      let path = "\(folder)/out.mp4"
      let test = TestRecorder(
        RecordingSettings(try FilePattern(path), title: "Größe", orientation: .right),
        descriptions: self.stream.descriptions)
      #expect(try await test.recorder.start(at: EncodedStream.start) == path)
      test.feed(self.samples(0, 7.5))
      let files = await test.recorder.stop(at: EncodedStream.time(7.5))
      #expect(files.map(\.path) == [path])
      #expect(names(in: folder) == ["out.mp4"])
      #expect(!test.isAttached)

      #expect(try self.boxTypes(path) == ["ftyp", "moov", "free", "uuid", "mdat"])
      let play = try Tools.play(path)
      #expect(play.frames.map(\.number) == Array(0..<225))
      #expect(abs(play.videoDuration - 7.5) < 0.001)
      #expect(abs(play.audioDuration - 7.5) < 0.024)
      #expect(zip(play.flashes, play.beeps).allSatisfy { abs($0 - $1) < 0.040 })
      #expect(play.flashes.count == 7 && play.beeps.count == 7)
      let entries = "format_tags=title,creation_time,encoder:stream_side_data=rotation"
      let tags = try Tools.run("ffprobe", ["-v", "error", "-show_entries", entries, "-of", "flat", path]).text
      #expect(tags.contains("title=\"Größe\""))
      #expect(tags.contains("creation_time=\"2026-09-21T"))
      #expect(tags.contains("rotation=-90"))
      let moov = try self.moov(path)
      let table = try moov.child("trak").child("mdia").child("minf").child("stbl").child("stts").full().content
      #expect(table.getInteger(at: table.readerIndex, as: UInt32.self) == 1, "frames are evenly apart")
      #expect(
        try moov.children().filter { $0.type == "trak" }.allSatisfy {
          try !$0.children().contains { $0.type == "edts" }
        })
    }
  }

  @Test func `an open file plays up to its last fragment`() async throws {
    try await withTemporaryFolder { folder in
      let path = "\(folder)/out.mp4"
      let test = TestRecorder(RecordingSettings(try FilePattern(path)), descriptions: self.stream.descriptions)
      _ = try await test.recorder.start(at: EncodedStream.start)
      test.feed(self.samples(0, 5.5))
      try test.recorder.pause(at: EncodedStream.time(5.5))
      try await self.wait(for: test) { $0.state == .paused }
      let play = try Tools.play(path)
      #expect(play.frames.map(\.number) == Array(0..<165))
      #expect(test.recorder.files().map(\.isFinished) == [false])
      await test.recorder.stop(at: EncodedStream.time(6))
      #expect(try Tools.play(path).frames.map(\.number) == Array(0..<165))
    }
  }

  @Test func `over ten pauses no video frame is missing or doubled, and flash and beep stay together`() async throws {
    try await withTemporaryFolder { folder in
      let path = "\(folder)/out.mp4"
      let test = TestRecorder(RecordingSettings(try FilePattern(path)), descriptions: self.stream.descriptions)
      _ = try await test.recorder.start(at: EncodedStream.start)
      var expected: [Int] = []
      var time = 0.0
      for index in 0..<11 {
        let end = time + 2.31
        test.feed(index == 10 ? self.samples(time, end) : self.arriving(time, end))
        // Every 15th video frame is a keyframe.
        let first = Int((time * 30 / 15).rounded(.up)) * 15
        expected += Array(first..<Int((end * 30).rounded(.up)))
        if index == 10 { break }
        try test.recorder.pause(at: EncodedStream.time(end))
        test.feed(self.arriving(end, end + 0.9))
        try test.recorder.resume(at: EncodedStream.time(end + 0.9))
        time = end + 0.9
      }
      await test.recorder.stop(at: EncodedStream.time(time + 2.31))
      #expect(test.keyframeRequests == 11)
      let play = try Tools.play(path)
      #expect(play.frames.map(\.number) == expected)
      for (index, frame) in play.frames.enumerated() {
        #expect(abs(frame.time - Double(index) / 30) < 0.001)
      }
      #expect(abs(play.videoDuration - play.audioDuration) < 0.034)
      // A flash that a pause cuts has no beginning; every complete flash has its beep.
      #expect(play.flashes.count > 10)
      for flash in play.flashes where flash > 0.5 && flash < play.videoDuration - 0.5 {
        // A beep is detected by the silence before it, which a pause may cut.
        guard let beep = play.beeps.min(by: { abs($0 - flash) < abs($1 - flash) }), abs(beep - flash) < 0.3 else {
          continue
        }
        #expect(abs(beep - flash) < 0.040, "flash at \(flash), beep at \(beep)")
      }
    }
  }

  @Test func `consecutive parts lose no video frame and no audio frame`() async throws {
    try await withTemporaryFolder { folder in
      let test = TestRecorder(
        RecordingSettings(try FilePattern("\(folder)/%Y/out.mp4"), partDuration: .seconds(3)),
        descriptions: self.stream.descriptions)
      _ = try await test.recorder.start(at: EncodedStream.start)
      test.feed(self.samples(0, 10))
      let files = await test.recorder.stop(at: EncodedStream.time(10))
      let paths = ["out.mp4", "out-2.mp4", "out-3.mp4", "out-4.mp4"].map { "\(folder)/2026/\($0)" }
      #expect(files.map(\.path) == paths)
      var numbers: [Int] = []
      var audioFrameCount = 0
      for path in paths {
        let play = try Tools.play(path)
        numbers += play.frames.map(\.number)
        audioFrameCount += play.audioFrameCount
        #expect(abs(play.videoDuration - play.audioDuration) < 0.024)
      }
      #expect(numbers == Array(0..<300))
      // 10 s of 1024-sample frames at 44.1 kHz; the first one is the encoder's priming.
      #expect((430...432).contains(audioFrameCount))
    }
  }

  @Test func `video alone, audio alone, and audio that starts late are recorded`() async throws {
    try await withTemporaryFolder { folder in
      for (name, kind) in [("video", MediaKind.video), ("audio", .audio)] {
        let test = TestRecorder(
          RecordingSettings(try FilePattern("\(folder)/\(name).mp4")),
          descriptions: self.stream.descriptions.filter { $0.kind == kind })
        _ = try await test.recorder.start(at: EncodedStream.start)
        test.feed(self.samples(0, 3).filter { $0.kind == kind })
        await test.recorder.stop(at: EncodedStream.time(3))
        let path = "\(folder)/\(name).mp4"
        let play = try Tools.play(path, hasVideo: kind == .video, hasAudio: kind == .audio)
        #expect(abs(max(play.videoDuration, play.audioDuration) - 3) < 0.03)
      }
      let late = TestRecorder(
        RecordingSettings(try FilePattern("\(folder)/late.mp4")), descriptions: self.stream.descriptions)
      _ = try await late.recorder.start(at: EncodedStream.start)
      late.feed(self.samples(0, 6).filter { $0.kind == .video || $0.presentationTime > EncodedStream.time(2.4) })
      await late.recorder.stop(at: EncodedStream.time(6))
      let play = try Tools.play("\(folder)/late.mp4")
      #expect(play.flashes.count == 5)
      #expect(zip(play.flashes.suffix(3), play.beeps.suffix(3)).allSatisfy { abs($0 - $1) < 0.040 })
      let traks = try self.moov("\(folder)/late.mp4").children().filter { $0.type == "trak" }
      #expect(try traks.map { try $0.children().contains { $0.type == "edts" } } == [false, true])
    }
  }

  @Test func `a format change continues in another file and loses no video or audio frame`() async throws {
    try await withTemporaryFolder { folder in
      let test = TestRecorder(
        RecordingSettings(try FilePattern("\(folder)/out.mp4")), descriptions: self.stream.descriptions)
      _ = try await test.recorder.start(at: EncodedStream.start)
      test.feed(self.arriving(0, 3))
      guard case .h264(var description) = self.stream.descriptions[0] else {
        Issue.record("no H.264")
        return
      }
      // The frame rate is the only field that can differ while the description still decodes these frames.
      description.frameRate = 25
      test.change(to: .h264(description))
      test.feed(self.samples(3, 5))
      await test.recorder.stop(at: EncodedStream.time(5))
      #expect(names(in: folder) == ["out-2.mp4", "out.mp4"])
      let (first, second) = (try Tools.play("\(folder)/out.mp4"), try Tools.play("\(folder)/out-2.mp4"))
      #expect(first.frames.map(\.number) == Array(0..<90))
      #expect(second.frames.map(\.number) == Array(90..<150))
      for part in [first, second] {
        #expect(abs(part.videoDuration - part.audioDuration) < 0.024)
        #expect(!part.flashes.isEmpty && !part.beeps.isEmpty)
        #expect(zip(part.flashes, part.beeps).allSatisfy { abs($0 - $1) < 0.040 })
      }
      // 5 s of 1024-sample frames at 44.1 kHz.
      #expect((215...217).contains(first.audioFrameCount + second.audioFrameCount))
    }
  }

  @Test func `a recording stops by itself at its duration and at the end of the stream`() async throws {
    try await withTemporaryFolder { folder in
      let test = TestRecorder(
        RecordingSettings(try FilePattern("\(folder)/a.mp4"), duration: .seconds(2)),
        descriptions: self.stream.descriptions)
      _ = try await test.recorder.start(at: EncodedStream.start)
      test.feed(self.samples(0, 4))
      let files = await test.recorder.waitUntilEnd()
      #expect(files.map { ($0.duration.seconds * 100).rounded() } == [200])
      #expect(test.recorder.status.state == .idle)

      let path = try await test.recorder.start(at: EncodedStream.start)
      #expect(path == "\(folder)/a-2.mp4")
      test.feed(self.samples(0, 1.7))
      test.endStream()
      #expect(await test.recorder.waitUntilEnd().count == 1)
      let play = try Tools.play(path)
      #expect(abs(play.videoDuration - play.audioDuration) < 0.034)
      #expect(play.videoDuration > 1.5)
    }
  }

  @Test func `the next recording starts while the files of the last are finished, and stop waits for both`()
    async throws
  {
    try await withTemporaryFolder { folder in
      let mayFinish = Gate()
      let test = TestRecorder(
        RecordingSettings(try FilePattern("\(folder)/a.mp4"), existingFiles: .overwrite),
        descriptions: self.stream.descriptions, onRemove: { mayFinish.pass() })
      _ = try await test.recorder.start(at: EncodedStream.start)
      test.feed(self.samples(0, 2))
      try test.recorder.requestStop()
      #expect(throws: VidiconError.self) { try test.recorder.requestStop() }
      #expect(test.recorder.status.state == .finishing && test.recorder.status.finishingCount == 1)
      // The first one's file may be locked, and is then not overwritten.
      let second = try await test.recorder.start(at: EncodedStream.time(2))
      #expect(test.recorder.status.state == .waiting && test.recorder.status.finishingCount == 1)
      mayFinish.open()
      test.feed(self.samples(2, 4))
      let files = await test.recorder.stop(at: EncodedStream.time(4))
      #expect(files.map(\.path) == [second])
      #expect(test.recorder.status.state == .idle && test.recorder.status.finishingCount == 0)
      for name in names(in: folder) { #expect(try Tools.warnings("\(folder)/\(name)") == "") }
    }
  }

  @Test(arguments: 0..<20) func `a stop that arrives while a recording starts is obeyed`(round: Int) async throws {
    try await withTemporaryFolder { folder in
      let test = TestRecorder(
        RecordingSettings(try FilePattern("\(folder)/a.mp4")), descriptions: self.stream.descriptions)
      let start = Task { try await test.recorder.start(at: EncodedStream.start) }
      try await eventually(every: .zero) { (try? test.recorder.requestStop()) != nil }
      _ = await start.result
      #expect(await test.recorder.waitUntilEnd().isEmpty)
      #expect(test.recorder.status.state == .idle)
      #expect(throws: VidiconError.self) { try test.recorder.pause() }
      #expect(names(in: folder) == [])
      #expect(!test.isAttached)
    }
  }

  @Test(arguments: 0..<20) func `a start directly after a stop works, also while the stopped recording starts`(
    round: Int
  ) async throws {
    try await withTemporaryFolder { folder in
      let test = TestRecorder(
        RecordingSettings(try FilePattern("\(folder)/a.mp4")), descriptions: self.stream.descriptions)
      let first = Task { try await test.recorder.start(at: EncodedStream.start) }
      try await eventually(every: .zero) { (try? test.recorder.requestStop()) != nil }
      let path = try await test.recorder.start(at: EncodedStream.start)
      _ = await first.result
      test.feed(self.samples(0, 2))
      let files = await test.recorder.stop(at: EncodedStream.time(2))
      #expect(files.map(\.path) == [path])
      #expect(names(in: folder).count == 1)
    }
  }

  @Test func `a recording without samples leaves no file`() async throws {
    try await withTemporaryFolder { folder in
      let test = TestRecorder(
        RecordingSettings(try FilePattern("\(folder)/a.mp4")), descriptions: self.stream.descriptions)
      _ = try await test.recorder.start(at: EncodedStream.start)
      #expect(names(in: folder) == ["a.mp4"])
      #expect(await test.recorder.stop(at: EncodedStream.time(1)).isEmpty)
      #expect(names(in: folder) == [])
    }
  }

  private func wait(for test: TestRecorder, _ condition: (RecordingStatus) -> Bool) async throws {
    do {
      try await eventually { condition(test.recorder.status) }
    } catch {
      Issue.record("\(test.recorder.status)")
      throw error
    }
  }

  private func boxTypes(_ path: String) throws -> [FourCharacterCode] {
    try MP4Box.boxes(in: ByteBuffer(bytes: Data(contentsOf: URL(filePath: path)))).map(\.type)
  }

  private func moov(_ path: String) throws -> MP4Box {
    let boxes = try MP4Box.boxes(in: ByteBuffer(bytes: Data(contentsOf: URL(filePath: path))))
    return try #require(boxes.first { $0.type == "moov" })
  }
}
