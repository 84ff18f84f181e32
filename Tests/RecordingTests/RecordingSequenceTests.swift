import Foundation
import Media
import NIOCore
import Synchronization
import TestSupport
import Testing
import Threading

@testable import Recording

@Suite("Order of recorded files, whatever the clock does")
struct RecordingSequenceTests {
  private static let second: Int64 = 1_000_000_000
  private static let owner = RecordingIdentity(stream: "cam", recorder: "id")

  /// A file with a number, or one of an earlier version.
  private static func file(
    _ name: String, _ number: UInt64?, time: Int64, of owner: RecordingIdentity? = Self.owner
  ) -> RecordedFile {
    var file = RecordedFile(
      path: name, name: name, byteCount: 10, modificationTime: time, isFinished: true, identity: owner,
      isClockSynchronized: true, id: nil)
    file.sequenceNumber = number
    return file
  }

  @Test func `numbers are times of day, and ascend while the clock is set back`() {
    var sequence = RecordingSequence(after: 0)
    let times: [Int64] = [1000, 2000, 500, 500, 2001, 2003, -1, .max, .max]
    let numbers = times.map { sequence.next(at: $0) }
    #expect(numbers == [1000, 2000, 2001, 2002, 2003, 2004, 2005, UInt64(Int64.max), UInt64(Int64.max)])
    var later = RecordingSequence(after: 5000)
    let number = later.next(at: 70)
    #expect(number == 5001)
    var damaged = RecordingSequence(after: .max)
    #expect(damaged.upcoming == UInt64(Int64.max) + 1)
    let last = damaged.next(at: 0)
    #expect(last == UInt64(Int64.max))
  }

  @Test func `files of one recorder are ordered by number, of several by time, those of earlier versions first`() {
    let other = RecordingIdentity(stream: "door", recorder: "id")
    let files = [
      Self.file("old", nil, time: 900), Self.file("a", 1000, time: 1100), Self.file("b", 1101, time: 20),
      Self.file("c", 1102, time: 40), Self.file("door", 30, time: 35, of: other),
      Self.file("foreign", nil, time: 1050, of: nil),
    ]
    for shuffled in [files, files.reversed(), Array(files[3...] + files[..<3])] {
      #expect(RecordedFile.sorted(shuffled).map(\.name) == ["old", "door", "a", "b", "foreign", "c"])
    }
    // Copies of one file have one number.
    let copies = [3, 1, 2].map { Self.file("\($0)", 7, time: $0) }
    #expect(RecordedFile.sorted(copies).map(\.name) == ["1", "2", "3"])
  }

  // The table of RecordingIdentity, one field a row.
  private static let box: [UInt8] =
    Array("vidicon.recorder".utf8)
    + [1]  // version
    + [1]  // flags: synchronized
    + [0, 3] + Array("cam".utf8)
    + [0, 2] + Array("id".utf8)
    + [0, 0, 0, 0, 0, 0, 0, 9]  // sequence number

  @Test func `the number is the last field of the recorder's box, and missing in earlier versions`() {
    let creation = RecordingCreation(isClockSynchronized: true, sequenceNumber: 9)
    #expect(Array(Self.owner.box(creation).readableBytesView.dropFirst(8)) == Self.box)
    for length in 0...Self.box.count {
      var read = RecordingCreation()
      let identity = RecordingIdentity(parsing: ByteBuffer(bytes: Self.box.prefix(length)), creation: &read)
      let isWhole = length >= Self.box.count - 8
      #expect(identity == (isWhole ? Self.owner : nil), "\(length)")
      #expect(read.sequenceNumber == (length == Self.box.count ? 9 : nil), "\(length)")
    }
  }

  /// A recorder with a clock that a test sets, in seconds since 1970.
  private func recorder(
    _ settings: RecordingSettings, clock: SettableClock
  ) -> TestRecorder {
    TestRecorder(
      settings, descriptions: StreamScript(keyframeDistance: 30).descriptions,
      clock: { clock.seconds.withLock { $0 } * Self.second })
  }

  private final class SettableClock: Sendable {
    let seconds: Mutex<Int64>

    init(_ seconds: Int64) { self.seconds = Mutex(seconds) }
  }

  private func record(_ test: TestRecorder) async throws -> [RecordingEvent] {
    let events = Task { await test.recorder.events.prefix { $0 != .ended }.reduce(into: []) { $0.append($1) } }
    _ = try await test.recorder.start(at: StreamScript.start)
    let script = StreamScript(keyframeDistance: 30)
    test.feed(script.samples(from: StreamScript.start, to: StreamScript.start + .seconds(2)).map(\.sample))
    await test.recorder.stop(at: StreamScript.start + .seconds(2))
    return try #require(await events.result(within: .seconds(300))).get()
  }

  @Test func `retention removes what was recorded first, also after the clock was set back by a year`() async throws {
    try await withTemporaryFolder { folder in
      let settings = RecordingSettings(try FilePattern("\(folder)/%F_%H-%M-%S.mp4"))
      var paths: [String] = []
      for time in [1_790_000_000, 1_760_000_000, 1_760_000_000, 1_760_000_100] as [Int64] {
        _ = try await self.record(self.recorder(settings, clock: SettableClock(time)))
        let path = try #require(Set(names(in: folder).map { "\(folder)/\($0)" }).subtracting(paths).first)
        paths.append(path)
        // As the file system records it by that clock.
        let times = [timespec](repeating: timespec(tv_sec: Int(time) + 2, tv_nsec: 0), count: 2)
        try #require(utimensat(AT_FDCWD, path, times, 0) == 0)
      }
      #expect(Recordings.list(matching: settings.pattern).map(\.path) == paths)
      // The same second again has another name.
      #expect(paths[2].hasSuffix("-2.mp4") && paths[2].dropLast(6) == paths[1].dropLast(4))
      var limited = settings
      limited.retention.byteCount = 1
      let events = try await self.record(self.recorder(limited, clock: SettableClock(1_760_000_200)))
      let removed = events.compactMap { if case .removedOld(let path) = $0 { path } else { nil } }
      #expect(removed == paths)
      #expect(names(in: folder).count == 1)
    }
  }

  @Test func `a recording that overwrites never overwrites its own parts, whatever their times are`() async throws {
    try await withTemporaryFolder { folder in
      // A start in the year 2096: what the file system records is before it.
      let times: [Int64] = [4_000_000_000, 3_999_999_990, 3_999_999_980, 3_999_999_990, 4_000_000_000]
      let clock = SettableClock(times[0])
      let settings = RecordingSettings(
        try FilePattern("\(folder)/%F_%H-%M-%S.mp4"), existingFiles: .overwrite, partDuration: .seconds(1))
      let test = self.recorder(settings, clock: clock)
      _ = try await test.recorder.start(at: StreamScript.start)
      let script = StreamScript(keyframeDistance: 30)
      for (index, time) in times.enumerated().dropFirst() {
        clock.seconds.withLock { $0 = time }
        let start = index == 1 ? StreamScript.start : TimelineRun.time(Double(index) - 0.5)
        test.feed(script.samples(from: start, to: TimelineRun.time(Double(index) + 0.5)).map(\.sample))
        try await eventually { test.recorder.status.partCount == index + 1 }
      }
      let files = await test.recorder.stop(at: TimelineRun.time(Double(times.count) - 0.5))
      #expect(files.count == times.count && Set(files.map(\.path)).count == times.count, "\(files.map(\.path))")
      #expect(names(in: folder).count == times.count)
      #expect(Recordings.list(matching: settings.pattern).map(\.path) == files.map(\.path))
    }
  }
}
