import ControlAPI
import Foundation
import Media
import Testing

@testable import Recording
@testable import VidiconCommand

// Processes of their own: the output is that of the whole process, at descriptors that the program's types do not choose.
@Suite("Recordings in words and as JSON")
struct RecordingTextTests {
  static let file = FinishedRecording(
    path: "a/clip.mp4", duration: .milliseconds(60_999), byteCount: 17_249_000, lostByteCount: 0)
  static let error = VidiconError(
    .noSpace, subject: "a/clip.mp4", cause: "the disk is full", nextStep: "remove other files")

  /// Every kind of event.
  static let events: [RecordingEvent] = [
    .partStarted(path: "a/clip.mp4"), .paused, .resumed, .fellBehind, .fileFull(path: "e.mp4"),
    .partFinished(Self.file),
    .partNotFinished(Self.error), .leftover(.finished(Self.file)), .leftover(.wasFinished(path: "b.mp4")),
    .leftover(.removedEmpty(path: "c.mp4")), .leftover(.failed(Self.error)), .removedOld(path: "d.mp4"),
    .agesUnknown, .failed(Self.error), .ended,
  ]

  private func json(_ value: some Encodable) throws -> [String: JSONValue] {
    try JSONDecoder().decode([String: JSONValue].self, from: JSONEncoder().encode(value))
  }

  @Test(
    arguments: [
      (0, "00:00:00"), (999, "00:00:00"), (61_000, "00:01:01"), (3_599_999, "00:59:59"), (3_600_000, "01:00:00"),
      (86_400_000, "24:00:00"), (360_000_000, "100:00:00"),
    ] as [(Int64, String)])
  func `a time is hours, minutes and whole seconds`(milliseconds: Int64, text: String) {
    #expect(Quantity.text(.milliseconds(milliseconds)) == text)
  }

  @Test(
    arguments: [
      (0, "0 kB"), (999, "0 kB"), (1_000, "1 kB"), (999_999, "999 kB"), (1_000_000, "1.0 MB"), (17_249_000, "17.2 MB"),
      (999_900_000, "999.9 MB"), (1_000_000_000, "1.00 GB"), (12_345_678_901, "12.35 GB"),
    ] as [(Int, String)])
  func `a size is in powers of 1000`(byteCount: Int, text: String) {
    #expect(Quantity.text(byteCount: byteCount) == text)
  }

  @Test(
    arguments: [
      (.idle, "not recording"), (.failed, "recording failed"), (.waiting, "waiting 00:01:00   17.2 MB"),
      (.recording, "recording 00:01:00   17.2 MB"), (.paused, "paused 00:01:00   17.2 MB"),
      (.finishing, "finishing 00:01:00   17.2 MB"),
    ] as [(RecordingStatus.State, String)])
  func `a status line ends with the state of the recording`(state: RecordingStatus.State, text: String) {
    var status = RecordingStatus()
    (status.state, status.duration, status.byteCount) = (state, .seconds(60), 17_249_000)
    #expect(status.summary == text)
  }

  @Test func `progress counts the frames dropped before the encoder and by the disk`() {
    var status = RecordingStatus()
    (status.state, status.duration, status.byteCount) = (.recording, .seconds(60), 17_249_000)
    (status.bitrate, status.videoSamplesDropped, status.audioSamplesDropped) = (2_296_000, 1, 2)
    #expect(status.progress(drops: 4) == "00:01:00   17.2 MB   2.30 Mb/s   7 dropped")
    for state in [RecordingStatus.State.waiting, .paused, .finishing, .failed] {
      status.state = state
      #expect(status.progress(drops: 0) == "00:01:00   17.2 MB   2.30 Mb/s   3 dropped   \(state.rawValue)")
    }
  }

  @Test func `the status as JSON has every field, in seconds, bytes and bits per second`() throws {
    var status = RecordingStatus()
    (status.state, status.path, status.file, status.partCount) = (.failed, "a/clip.mp4", "clip.mp4", 2)
    (status.duration, status.byteCount) = (.milliseconds(1500), 17_249_000)
    (status.bitrate, status.videoSamplesDropped, status.audioSamplesDropped) = (2_296_000, 3, 4)
    status.error = Self.error
    #expect(
      try self.json(RecordingEntry(withPathOf: status)) == [
        "state": "failed", "path": "a/clip.mp4", "parts": 2, "duration": 1.5, "bytes": 17_249_000,
        "bitrate": 2_296_000, "drops": 7, "error": "the disk is full; remove other files",
      ])
    #expect(try self.json(RecordingEntry(withPathOf: RecordingStatus()))["path"] == nil)
  }

  @Test func `each event as JSON names its change, with the file or the error it concerns`() throws {
    let error: JSONValue = .text(Self.error.description)
    let expected: [[String: JSONValue]] = [
      ["change": "started", "path": "a/clip.mp4"], ["change": "paused"], ["change": "resumed"],
      ["change": "fellBehind"], ["change": "fileFull", "path": "e.mp4"],
      ["change": "finished", "path": "a/clip.mp4", "seconds": 60.999, "bytes": 17_249_000],
      ["change": "notFinished", "path": "a/clip.mp4", "error": error], ["change": "repaired", "path": "a/clip.mp4"],
      ["change": "repaired", "path": "b.mp4"], ["change": "repaired", "path": "c.mp4"],
      ["change": "repaired", "path": "a/clip.mp4", "error": error], ["change": "removed", "path": "d.mp4"],
      ["change": "agesUnknown"], ["change": "failed", "path": "a/clip.mp4", "error": error], ["change": "ended"],
    ]
    for (event, fields) in zip(Self.events, expected) {
      let common: [String: JSONValue] = ["event": "recording", "stream": "live"]
      #expect(try self.json(JSONRecordingEvent(event, of: "live")) == common.merging(fields) { $1 }, "\(event)")
    }
    #expect(expected.count == Self.events.count)
  }

  @Test func `a repair is reported with its file and its result`() {
    var torn = Self.file
    torn.lostByteCount = 1234
    var damaged = Self.file
    (damaged.lostByteCount, damaged.original) = (3234, "a/clip.damaged.mp4")
    damaged.damage = [
      .init(offset: 100, byteCount: 1500, lostDuration: .seconds(1)), .init(offset: 9000, byteCount: 500),
    ]
    let repairs: [(Recordings.Repair, path: String, summary: String, problem: String?)] = [
      (.finished(Self.file), "a/clip.mp4", "a/clip.mp4   00:01:00   17.2 MB   finished", nil),
      (
        .finished(torn), "a/clip.mp4",
        "a/clip.mp4   00:01:00   17.2 MB   finished, without its last 1234 bytes, which are an incomplete fragment", nil
      ),
      (
        .finished(damaged), "a/clip.mp4",
        "a/clip.mp4   00:01:00   17.2 MB   finished, without 2000 bytes in 2 damaged places, at least 1.0 s of the "
          + "recording, without its last 1234 bytes, which are an incomplete fragment, the damaged file is kept as "
          + "a/clip.damaged.mp4",
        nil
      ),
      (.wasFinished(path: "b.mp4"), "b.mp4", "b.mp4   was finished already", nil),
      (.removedEmpty(path: "c.mp4"), "c.mp4", "c.mp4   removed; nothing had been recorded in it", nil),
      (.failed(Self.error), "a/clip.mp4", Self.error.description, Self.error.description),
    ]
    for (repair, path, summary, problem) in repairs {
      #expect(repair.path == path && repair.summary == summary && repair.problem == problem)
    }
  }

  @Test func `files are reported on standard output, problems on standard error`() async throws {
    let result = try await #require(
      processExitsWith: .success, observing: [\.standardOutputContent, \.standardErrorContent]
    ) {
      let display = TextStatusDisplay(showsQRCode: false)
      for event in RecordingTextTests.events { display.showRecording(event, of: "live") }
      _ = LineWriter.standardError.flush(within: nil)
    }
    #expect(
      OutputLines(result.standardOutputContent).lines == [
        "  Recording  a/clip.mp4", "  Recording  paused", "  Recording  resumed",
        "  Recorded   a/clip.mp4   00:01:00   17.2 MB", "  Repaired   a/clip.mp4   00:01:00   17.2 MB   finished",
        "  Repaired   b.mp4   was finished already", "  Repaired   c.mp4   removed; nothing had been recorded in it",
        "  Removed    d.mp4",
      ])
    #expect(
      OutputLines(result.standardErrorContent).own == [
        "vidicon: live: the disk is too slow; the recording continues when the disk has caught up",
        "vidicon: live: e.mp4 has the maximum size of a file here; the recording continues in another file",
        "vidicon: live: \(Self.error)", "vidicon: live: \(Self.error)",
        "vidicon: live: the clock is not synchronized, so no recording is removed by age; see timedatectl",
        "vidicon: live: the recording has stopped: \(Self.error)",
      ])
  }

  @Test func `every change of a recording is an event of the log with the file and its facts`() {
    let time = CalendarTime(unixTime: .zero)
    let lines = Self.events.map { LogFormat.keys.line($0.logEvent(of: "live"), isJournal: true, at: time) }
    #expect(
      lines == [
        "<5>event=recording_started stream=live path=a/clip.mp4", "<5>event=recording_paused stream=live",
        "<5>event=recording_resumed stream=live",
        "<4>event=recording_behind stream=live "
          + "message=\"the disk is too slow; the recording continues when the disk has caught up\"",
        "<4>event=recording_file_full stream=live path=e.mp4 "
          + "message=\"e.mp4 has the maximum size of a file here; the recording continues in another file\"",
        "<5>event=recording_finished stream=live path=a/clip.mp4 duration=61.0 bytes=17249000",
        "<4>event=recording_not_finished stream=live path=a/clip.mp4 message=\"\(Self.error)\"",
        "<5>event=recording_repaired stream=live path=a/clip.mp4", "<5>event=recording_repaired stream=live path=b.mp4",
        "<5>event=recording_repaired stream=live path=c.mp4",
        "<4>event=recording_repaired stream=live path=a/clip.mp4 message=\"\(Self.error)\"",
        "<5>event=recording_removed stream=live path=d.mp4",
        "<4>event=recording_ages_unknown stream=live message=\"the clock is not synchronized, so no recording is removed "
          + "by age; see timedatectl\"",
        "<4>event=recording_failed stream=live path=a/clip.mp4 message=\"the recording has stopped: \(Self.error)\"",
        "<5>event=recording_ended stream=live",
      ])
  }

  @Test func `with JSON, standard error still reports problems, and nothing else`() async throws {
    let result = try await #require(
      processExitsWith: .success, observing: [\.standardErrorContent, \.standardOutputContent]
    ) {
      let display = JSONStatusDisplay()
      for event in RecordingTextTests.events { display.showRecording(event, of: "live") }
      display.showSnapshot("s.jpg", of: "live")
      display.showEnd()
      _ = LineWriter.standardOutput.flush(within: nil)
      _ = LineWriter.standardError.flush(within: nil)
    }
    let lines = OutputLines(result.standardOutputContent).lines
    let objects = try lines.map { try JSONDecoder().decode([String: JSONValue].self, from: Data($0.utf8)) }
    #expect(objects.count == Self.events.count + 2)
    #expect(objects.dropLast(2).allSatisfy { $0["event"] == "recording" && $0["stream"] == "live" })
    #expect(objects.suffix(2) == [["event": "snapshot", "stream": "live", "path": "s.jpg"], ["event": "stopped"]])
    #expect(OutputLines(result.standardErrorContent).own.count == 6)
  }
}
