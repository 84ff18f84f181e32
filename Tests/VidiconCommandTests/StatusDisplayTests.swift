import Foundation
import Media
import Recording
import Serving
import Testing
import Vidicon

@testable import Streaming
@testable import VidiconCommand

// Processes of their own: the output is that of the whole process, at descriptors that the program's types do not choose.
@Suite("Status displays")
struct StatusDisplayTests {
  /// A server on free ports of the loopback address.
  static func server(hasHTTP: Bool = true) -> CameraServer {
    var settings = CameraServerSettings(
      rtsp: RTSPServerSettings(port: 0), http: hasHTTP ? HTTPServerSettings(port: 0) : nil, isAnnounced: false)
    settings.rtsp.address = "127.0.0.1"
    settings.http?.address = "127.0.0.1"
    return CameraServer(settings: settings)
  }

  /// The report of a stream that does not run: every counter is 0.
  static func report(_ name: String = "door") -> StreamReport {
    StreamReport(LiveStream(name), server: Self.server(), since: nil, interval: 0)
  }

  @Test func `a line has rates, viewers and drops, and names the stream where there are several`() {
    var report = Self.report()
    #expect(report.line(isNamed: false) == "0.0 fps   0.00 Mb/s   0 viewers   0 dropped")
    (report.frameRate, report.bitrate, report.viewers) = (29.97, 2_296_000, 1)
    report.stream.framesDropped = [.late: 2, .stopped: 3]
    #expect(report.line(isNamed: true) == "door   30.0 fps   2.30 Mb/s   1 viewer   5 dropped")
  }

  @Test func `a line has the viewers over WebRTC that do not get the whole frame`() {
    var report = Self.report()
    report.viewers = 3
    report.protocols["webrtc", default: ViewerStatistics()].viewerList = ["main", "low", "audio"].enumerated().map {
      WebRTCViewerStatistics(number: $0 + 1, rendition: $1)
    }
    #expect(
      report.line(isNamed: false)
        == "0.0 fps   0.00 Mb/s   3 viewers   2 of 3 over WebRTC with a smaller rendition   0 dropped")
    report.protocols["webrtc"]?.viewerList?.removeLast(2)
    #expect(report.line(isNamed: false) == "0.0 fps   0.00 Mb/s   3 viewers   0 dropped")
  }

  @Test func `a line of the source whip: says that it waits, and how many publishers were refused`() {
    var report = Self.report()
    report.publisher = WebRTCPublisherStatistics()
    #expect(report.line(isNamed: false) == "0.0 fps   0.00 Mb/s   0 viewers   0 dropped")
    report.stream.isSlateShown = true
    report.publisher?.attemptsRefused = 1
    #expect(
      report.line(isNamed: false)
        == "0.0 fps   0.00 Mb/s   0 viewers   0 dropped   waiting for a camera   1 publisher refused")
    report.stream.isSourceWaiting = true
    report.publisher?.attemptsRefused = 0
    #expect(report.line(isNamed: false) == "0.0 fps   0.00 Mb/s   0 viewers   0 dropped   connected, no frame yet")
    report.stream.isSlateShown = false
    report.publisher?.attemptsRefused = 2
    #expect(report.line(isNamed: false) == "0.0 fps   0.00 Mb/s   0 viewers   0 dropped   2 publishers refused")
  }

  @Test func `a line ends with skipped frames, effects, warnings and the recording`() {
    var report = Self.report()
    report.protocols["rtsp"]?.framesSkipped = 5
    report.protocols["rtmp", default: ViewerStatistics()].framesSkipped = 2
    report.effectTime = 4.14
    report.stream.faces = 2
    report.framesCovered = 3
    report.acceptsAnyCertificate = true
    report.stream.isSlateShown = true
    report.recording = RecordingStatus()
    #expect(
      report.line(isNamed: false)
        == "0.0 fps   0.00 Mb/s   0 viewers   0 dropped   7 skipped for slow viewers   2 faces   effects 4.1 ms   "
        + "frame covered, since faces cannot be found   source not verified (insecure=1)   no signal   not recording")
  }

  @Test(
    arguments: [
      (nil, 3, nil), (0, 0, "effects 0.0 ms"), (4.16, 0, "effects 4.2 ms"), (4.16, 1, "1 face   effects 4.2 ms"),
      (12, 2, "2 faces   effects 12.0 ms"),
    ] as [(Double?, Int, String?)])
  func `faces are counted while there are effects`(time: Double?, faces: Int, text: String?) {
    var report = Self.report()
    report.stream.faces = faces
    #expect(StreamReport.text(effectTime: time, of: report.stream) == text)
  }

  @Test func `covered frames are those since the last report`() {
    let (stream, server) = (LiveStream("door"), Self.server())
    var last = StreamReport(stream, server: server, since: nil, interval: 1)
    var effect = EffectStatistics(name: "PrivacyMask")
    (effect.covers, effect.detectionStalls, effect.detectionFailures) = (5, 2, 1)
    last.stream.effects = [effect]
    #expect(last.stream.framesCovered == 5 && last.stream.faceDetectionRestarts == 3 && last.coverText == nil)
    // The effect was replaced since.
    #expect(StreamReport(stream, server: server, since: last, interval: 1).framesCovered == 0)
    effect.covers = -2
    last.stream.effects = [effect]
    #expect(StreamReport(stream, server: server, since: last, interval: 1).framesCovered == 2)
  }

  @Test func `a failure of an effect is an event`() async throws {
    let result = try await #require(processExitsWith: .success, observing: [\.standardOutputContent]) {
      let display = JSONStatusDisplay()
      display.showEffect(EffectReport(name: "FaceTracker", kind: .failed(cause: "it hangs")), of: "door")
      display.showEffect(
        EffectReport(name: "Blur", kind: .slow(took: .milliseconds(50), budget: .milliseconds(20))), of: "door")
      display.showEffect(EffectReport(name: "PrivacyMask", kind: .limited(cause: "small")), of: "door")
      _ = LineWriter.standardOutput.flush(within: nil)
    }
    let lines = String(decoding: result.standardOutputContent, as: UTF8.self).split(separator: "\n")
    #expect(lines.count == 3)
    for (line, problem) in zip(lines, ["failed", "slow", "limited"]) {
      for text in [#""event":"effect""#, #""stream":"door""#, #""problem":"\#(problem)""#] {
        #expect(line.contains(text), "\(line)")
      }
    }
    #expect(lines[0].contains("effect FaceTracker failed: it hangs"))
  }

  @Test func `rates are those since the last report`() {
    let (stream, server) = (LiveStream("door"), Self.server())
    var last = StreamReport(stream, server: server, since: nil, interval: 1)
    #expect(last.frameRate == 0 && last.bitrate == 0 && last.effectTime == nil)
    // The stream's counters are 0: the last ones were so much less.
    (last.stream.framesEncoded, last.stream.framesPassedThrough) = (-40, -20)
    (last.stream.videoBytes, last.stream.audioBytes) = (-500_000, -20_000)
    (last.stream.framesWithEffects, last.stream.effectTime) = (-40, .zero - .milliseconds(100))
    let report = StreamReport(stream, server: server, since: last, interval: 2)
    #expect(report.frameRate == 30 && report.bitrate == 520_000 * 8 / 2 && report.effectTime == 2.5)
    let none = StreamReport(stream, server: server, since: last, interval: 0)
    #expect(none.frameRate == 0 && none.bitrate == 0 && none.effectTime == nil)
  }

  @Test func `without a terminal a line is printed each ten seconds, and when the number of viewers changes`()
    async throws
  {
    let result = try await #require(processExitsWith: .success, observing: [\.standardOutputContent]) {
      let display = TextStatusDisplay(showsQRCode: true)
      let (server, stream) = (StatusDisplayTests.server(), LiveStream("door"))
      for _ in 0..<21 { display.showStatus(server: server, streams: [stream]) }
    }
    // The first one is a change, to no viewers.
    let line = "  0.0 fps   0.00 Mb/s   0 viewers   0 dropped"
    #expect(OutputLines(result.standardOutputContent).lines == [line, line, line])
  }

  @Test func `lines of several streams begin with their names`() async throws {
    let result = try await #require(processExitsWith: .success, observing: [\.standardOutputContent]) {
      let display = TextStatusDisplay(showsQRCode: false)
      let streams = ["door", "yard"].map { LiveStream($0) }
      display.showStatus(server: StatusDisplayTests.server(), streams: streams)
      display.showSource("plasma", kind: .video, of: "yard")
      display.showSource("tone", kind: .audio, of: "yard")
      display.showKey("video is mirrored")
      display.showKeys(TerminalKey.hint)
      display.showSnapshot("s.jpg", of: "door")
      display.showEnd()
    }
    // The hint of the keys and the end are for terminals only.
    #expect(
      OutputLines(result.standardOutputContent).lines == [
        "  door   0.0 fps   0.00 Mb/s   0 viewers   0 dropped", "  yard   0.0 fps   0.00 Mb/s   0 viewers   0 dropped",
        "  Source     yard: plasma", "  Audio      yard: tone", "  Keys       video is mirrored",
        "  Snapshot   s.jpg",
      ])
  }

  @Test func `announcements as text are those of pages, as JSON of every service`() async throws {
    let result = try await #require(processExitsWith: .success, observing: [\.standardOutputContent]) {
      let services = try [Service.Kind.http, .rtsp].map {
        try Service(stream: "door", path: "/door", kind: $0, port: 8080, host: "myhost")
      }
      for display in [TextStatusDisplay(showsQRCode: false), JSONStatusDisplay()] as [any StatusDisplay] {
        for service in services { display.showAnnouncement(of: service, name: "door on myhost (2)") }
      }
      _ = LineWriter.standardOutput.flush(within: nil)
    }
    #expect(
      OutputLines(result.standardOutputContent).lines == [
        "  Bonjour    door on myhost (2)",
        #"{"event":"announced","name":"door on myhost (2)","port":8080,"service":"_http._tcp"}"#,
        #"{"event":"announced","name":"door on myhost (2)","port":8080,"service":"_rtsp._tcp"}"#,
      ])
  }

  @Test(.timeLimit(.minutes(5)))
  func `the start shows the tracks, the chosen source and every address`() async throws {
    let result = try await #require(processExitsWith: .success, observing: [\.standardOutputContent]) {
      let server = StatusDisplayTests.server()
      let stream = LiveStream(
        "front/door", video: VideoSettings(bitrate: 500_000), audio: AudioSettings(channelCount: 1, bitrate: 48_000))
      stream.attachVideo(PlasmaCapturer(width: 320, height: 240, frameRate: FrameRate(25)))
      stream.attachAudio(SilenceCapturer())
      try await server.serve(stream)
      try await server.start()
      let access = AccessSummary(token: nil, control: .none, isWatchingProtected: false)
      TextStatusDisplay(showsQRCode: true).showStart(
        server: server, streams: [stream], choice: "no camera: plasma", access: access)
      JSONStatusDisplay().showStart(server: server, streams: [stream], choice: nil, access: access)
      _ = LineWriter.standardOutput.flush(within: nil)
      await server.stop()
    }
    let lines = OutputLines(result.standardOutputContent).lines
    try #require(lines.count == 7)
    #expect(lines[0] == "front/door  320×240  25 fps  H.264 500 kb/s  AAC 48 kb/s mono")
    #expect(lines[1] == "  Source     no camera: plasma")
    let started = try JSONDecoder().decode([String: JSONValue].self, from: Data(lines[6].utf8))
    guard case .number(let rtsp)? = started["rtspPort"], case .number(let http)? = started["httpPort"] else {
      Issue.record("no ports in \(started)")
      return
    }
    let (url, page) = ("rtsp://127.0.0.1:\(Int(rtsp))/front/door", "http://127.0.0.1:\(Int(http))/front/door")
    #expect(lines[2] == "  OBS, VLC   \(url)" && lines[3] == "  Browser    \(page)")
    let notes = [
      "anyone on this network can watch; --user NAME:PASSWORD asks for a password",
      "control is off, since --control is none",
    ]
    #expect(lines[4..<6] == ["  Access     \(notes[0])", "  Access     \(notes[1])"])
    #expect(
      started == [
        "event": "started", "rtspPort": .number(rtsp), "httpPort": .number(http),
        "streams": [["name": "front/door", "urls": [.text(url)], "pages": [.text(page)]]],
        "access": .list(notes.map { .text($0) }),
      ])
  }

  @Test func `every key of the JSON status is in the documentation, and those of effects only with effects`()
    async throws
  {
    let result = try await #require(processExitsWith: .success, observing: [\.standardOutputContent]) {
      let (server, stream) = (StatusDisplayTests.server(hasHTTP: false), LiveStream("door"))
      server.attach(
        Recorder(stream, settings: RecordingSettings(try FilePattern("/tmp/door.mp4"))), to: stream)
      JSONStatusDisplay().showStatus(server: server, streams: [stream])
      _ = LineWriter.standardOutput.flush(within: nil)
    }
    let line = try #require(OutputLines(result.standardOutputContent).lines.first)
    let status = try JSONDecoder().decode([String: JSONValue].self, from: Data(line.utf8))
    #expect(status["event"] == "status")
    guard case .list(let streams)? = status["streams"], case .object(let stream)? = streams.first else {
      Issue.record("no stream in \(line)")
      return
    }
    #expect(stream["name"] == "door" && stream["isSlateShown"] == false && stream["frameRate"] == 0)
    #expect(stream["loopLag"] == 0)
    #expect(stream["faces"] == nil && stream["effectMilliseconds"] == nil && stream["framesDroppedByEffects"] == nil)
    guard case .object(let recording)? = stream["recording"] else {
      Issue.record("no recording in \(line)")
      return
    }
    #expect(
      recording
        == ["state": "idle", "parts": 0, "duration": 0, "bytes": 0, "bitrate": 0, "drops": 0])
    let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appending(path: "docs/configuration.md")
    let documentation = try String(contentsOf: file, encoding: .utf8)
    let words = Set(documentation.matches(of: /`(\w+)`/).map { String($0.output.1) })
    #expect(words.isSuperset(of: stream.keys) && words.isSuperset(of: recording.keys))
    // And every change of a recording.
    let changes = try RecordingTextTests.events.map { event in
      let data = try JSONEncoder().encode(JSONRecordingEvent(event, of: "door"))
      return try JSONDecoder().decode([String: JSONValue].self, from: data)["change"]
    }
    for change in changes {
      guard case .text(let change)? = change else {
        Issue.record("no change in \(changes)")
        return
      }
      #expect(words.contains(change), "\(change)")
    }
  }
}
