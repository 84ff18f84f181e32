import Foundation
import Media
import Recording
import Serving
import Streaming
import Testing
import Vidicon

@testable import VidiconCommand

// Processes of their own: the output is that of the whole process, at descriptors that the program's types do not choose.
@Suite("The log of a server for programs")
struct LogStatusDisplayTests {
  /// The lines from `event=` on.
  private static func events(_ bytes: [UInt8]) -> [String] {
    OutputLines(bytes).lines.compactMap { line in
      line.firstMatch(of: #/^time=\S+Z level=(\w+) (event=.*)$/#).map { "\($0.1): \($0.2)" }
    }
  }

  @Test func `events are lines of standard error, and nothing is on standard output`() async throws {
    let result = try await #require(
      processExitsWith: .success, observing: [\.standardOutputContent, \.standardErrorContent]
    ) {
      Terminal.setLogFormat(.keys)
      let display = LogStatusDisplay(beside: nil)
      display.showControl("http://a.example/#control=secret")
      display.showSource("file:a b.mp4", kind: .video, of: "door")
      display.showEffect(EffectReport(name: "faces", kind: .failed(cause: "a\nb")), of: "door")
      display.showAnnouncement(
        of: try Service(stream: "door", path: "/door", kind: .http, port: 8080, host: "myhost"), name: "door on myhost")
      display.showRecording(.partStarted(path: "x.mp4"), of: "door")
      display.showSnapshot("s.jpg", of: "door")
      display.showPush(PushEvent(push: 2, address: "rtmp://a.example/app", kind: .sending), of: "door")
      for _ in 1...5 { Terminal.warn("again") }
      display.showEnd()
      Terminal.fail("the end", status: 0)
    }
    #expect(OutputLines(result.standardOutputContent).text.isEmpty)
    #expect(
      Self.events(result.standardErrorContent) == [
        "notice: event=source_switched stream=door kind=video source=\"file:a b.mp4\"",
        "warning: event=effect stream=door effect=faces problem=failed message=\"effect faces failed: a\\nb\"",
        "notice: event=announced service=_http._tcp name=\"door on myhost\" port=8080",
        "notice: event=recording_started stream=door path=x.mp4", "notice: event=snapshot_saved stream=door path=s.jpg",
        "notice: event=push_sending stream=door push=2 server=rtmp://a.example/app "
          + "message=\"push 2 to rtmp://a.example/app: sending\"",
        "warning: event=message message=again", "warning: event=message message=again",
        "warning: event=message message=again", "warning: event=message message=again more=2",
        "error: event=failed message=\"the end\"",
      ])
  }

  @Test func `with JSON, each event is one line of either output`() async throws {
    let result = try await #require(
      processExitsWith: .success, observing: [\.standardOutputContent, \.standardErrorContent]
    ) {
      Terminal.setLogFormat(.keys)
      let display = LogStatusDisplay(beside: JSONStatusDisplay())
      display.showSource("bars", kind: .video, of: "door")
      display.showEffect(EffectReport(name: "faces", kind: .limited(cause: "c")), of: "door")
      display.showRecording(.agesUnknown, of: "door")
      display.showRecording(.ended, of: "door")
      display.showPush(PushEvent(push: 1, address: "rtmp://a.example/app", kind: .stopped), of: "door")
      display.showSnapshot("s.jpg", of: "door")
      display.showEnd()
      _ = LineWriter.standardOutput.flush(within: nil)
      _ = LineWriter.standardError.flush(within: nil)
    }
    let objects = try OutputLines(result.standardOutputContent).lines.map {
      try JSONDecoder().decode([String: JSONValue].self, from: Data($0.utf8))["event"]
    }
    #expect(objects == ["source", "effect", "recording", "recording", "push", "snapshot", "stopped"])
    let names = Self.events(result.standardErrorContent).map { $0.firstMatch(of: #/event=(\w+)/#).map { String($0.1) } }
    #expect(
      names == [
        "source_switched", "effect", "recording_ages_unknown", "recording_ended", "push_stopped", "snapshot_saved",
      ])
  }

  @Test(.timeLimit(.minutes(5)))
  func `the start has the ports, and each stream its source and addresses`() async throws {
    let result = try await #require(processExitsWith: .success, observing: [\.standardErrorContent]) {
      Terminal.setLogFormat(.keys)
      let server = StatusDisplayTests.server()
      let stream = LiveStream("front door", video: VideoSettings(bitrate: 500_000))
      stream.attachVideo(PlasmaCapturer(width: 320, height: 240, frameRate: FrameRate(25)))
      try await server.serve(stream)
      try await server.start()
      let access = AccessSummary(token: nil, control: .none, isWatchingProtected: true)
      LogStatusDisplay(beside: nil).showStart(server: server, streams: [stream], choice: "no camera", access: access)
      await server.stop()
      _ = LineWriter.standardError.flush(within: nil)
    }
    let events = Self.events(result.standardErrorContent)
    try #require(events.count == 3, "\(events)")
    let listening = try #require(
      events[0].wholeMatch(of: #/notice: event=listening version=.* rtsp=(\d+) http=(\d+)/#))
    let (rtsp, http) = (listening.1, listening.2)
    #expect(events[1] == "notice: event=access message=\"control is off, since --control is none\"")
    #expect(
      events[2] == "notice: event=stream_started stream=\"front door\" page=http://127.0.0.1:\(http)/front%20door "
        + "rtsp=rtsp://127.0.0.1:\(rtsp)/front%20door choice=\"no camera\"")
  }

  @Test func `a change of the number of viewers is an event of its stream, by protocol`() {
    let display = LogStatusDisplay(beside: nil)
    func lines(_ counts: [(stream: String, viewers: [String: Int])]) -> [String?] {
      display.changes(to: counts).map {
        LogFormat.keys.line($0, isJournal: true, at: CalendarTime(unixTime: .zero))
      }
    }
    let none = (stream: "a", viewers: ["rtsp": 0, "hls": 0, "mjpeg": 0])
    #expect(lines([none]) == [], "no viewer yet")
    let two = (stream: "a", viewers: ["rtsp": 1, "hls": 2, "mjpeg": 0])
    #expect(lines([two]) == ["<5>event=viewers stream=a viewers=3 rtsp=1 hls=2 mjpeg=0"])
    #expect(lines([two]) == [])
    // The sum is the same.
    let others = (stream: "a", viewers: ["rtsp": 2, "hls": 1, "mjpeg": 0])
    let further = (stream: "b", viewers: ["rtsp": 0, "rtmp": 1, "webrtc": 2, "hls": 0, "mjpeg": 0])
    #expect(
      lines([others, further]) == [
        "<5>event=viewers stream=a viewers=3 rtsp=2 hls=1 mjpeg=0",
        "<5>event=viewers stream=b viewers=3 rtsp=0 rtmp=1 webrtc=2 hls=0 mjpeg=0",
      ])
    #expect(lines([none, further]) == ["<5>event=viewers stream=a viewers=0 rtsp=0 hls=0 mjpeg=0"])
    // The second one is removed, the first one had no viewers.
    #expect(lines([]) == ["<5>event=viewers stream=b viewers=0 rtsp=0 rtmp=0 webrtc=0 hls=0 mjpeg=0"])
    #expect(lines([]) == [])
  }
}
