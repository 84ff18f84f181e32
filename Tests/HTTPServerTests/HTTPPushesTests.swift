import Authentication
import Media
import Pushing
import StreamControl
import Streaming
import Synchronization
import Testing

@testable import ControlAPI

@Suite("Pushes over HTTP", .timeLimit(.minutes(5)))
struct HTTPPushesTests {
  private static let path = "/api/streams/cam/1/pushes"

  /// Requests to the stream, and its responses.
  private final class Pushes: Sendable {
    let entries = Mutex<[[PushEntry]]>([])
    let failure = Mutex<VidiconError?>(nil)
    let report: PushReport

    init() throws {
      var status = PushStatus()
      status.phase = .sending
      (status.bitrate, status.hasOwnEncoding, status.queueAge) = (900_000, true, .milliseconds(1234))
      status.sentBitrate = 812_345
      (status.droppedFrames, status.droppedAudioFrames, status.reconnects) = (3, 1, 2)
      status.failedAttempts = 4
      (status.sentByteCount, status.lastFailure) = (12_345, "the server has closed the connection")
      self.report = PushReport(
        id: 1, address: try PushTarget(url: "rtmps://a.example/live2/SECRET").address, status: status)
    }

    var control: PushControl {
      PushControl(
        reports: { [self.report] },
        replace: { entries in
          self.entries.withLock { $0.append(entries) }
          return self.failure.withLock { $0 }
        })
    }
  }

  private func withPushes(
    access: AccessControl = .permissive(), _ body: (Pushes, _ port: Int) async throws -> Void
  ) async throws {
    let pushes = try Pushes()
    let stream = LiveStream("cam/1")
    var providers = WebServerProviders()
    providers.controls = { StreamControls(pushes: $0 === stream ? pushes.control : nil) }
    try await withServer(access: access, providers: providers) { server, port in
      for stream in [stream, LiveStream("other")] { server.serve(stream) }
      try await body(pushes, port)
    }
  }

  @Test func `operators see the state of each push, without its key, and viewers do not`() async throws {
    let access = AccessControl.permissive { $0.control = .operators }
    let token = access.makeToken(role: .operator)
    try await self.withPushes(access: access) { _, port in
      let refused = try await HTTPControlTests.send("GET", "", to: Self.path, port: port)
      #expect(HTTPControlTests.status(refused) == "401")
      let change = try await HTTPControlTests.send("PUT", #"{"pushes":[]}"#, to: Self.path, port: port)
      #expect(HTTPControlTests.status(change) == "401")
      let bearer = "Authorization: Bearer \(token.text)"
      let seen = try await HTTPControlTests.send("GET", "", to: Self.path, port: port, bearer)
      #expect(
        seen.body
          == #"{"pushes":[{"audioFramesDropped":1,"bitrate":812345,"bytesSent":12345,"failedAttempts":4,"framesDropped":3,"id":1,"#
          + #""lastFailure":"the server has closed the connection","ownEncoding":true,"queue":1.234,"reconnects":2,"#
          + #""rendition":"main","server":"rtmps://a.example/live2","state":"sending","videoBitrate":900000,"waitingForEncoding":false}]}"#
      )
    }
  }

  @Test func `a list replaces the pushes`() async throws {
    try await self.withPushes { pushes, port in
      let body =
        #"{"pushes":[{"id":1},{"url":"rtmp://b.example/app/SECRET?x=1","rendition":"low","bitrate":800000,"adaptive":false}]}"#
      let response = try await HTTPControlTests.send("PUT", body, to: Self.path, port: port)
      #expect(HTTPControlTests.status(response) == "200" && !response.body.contains("SECRET"))
      let target = try PushTarget(
        url: "rtmp://b.example/app/SECRET?x=1", rendition: "low", bitrate: 800_000, isAdaptive: false)
      #expect(pushes.entries.withLock { $0 } == [[.existing(1), .new(target)]])
      let whip = #"{"pushes":[{"url":"whip+https://b.example/SECRET","token":"SECRET2"}]}"#
      let second = try await HTTPControlTests.send("PUT", whip, to: Self.path, port: port)
      #expect(HTTPControlTests.status(second) == "200" && !second.body.contains("SECRET"))
      let whipTarget = try PushTarget(url: "whip+https://b.example/SECRET", token: Secret("SECRET2"))
      #expect(pushes.entries.withLock { $0.last } == [.new(whipTarget)])
      let low = #"{"pushes":[{"url":"whip+https://b.example/SECRET?rendition=low"}]}"#
      let third = try await HTTPControlTests.send("PUT", low, to: Self.path, port: port)
      #expect(HTTPControlTests.status(third) == "200" && !third.body.contains("SECRET"))
      let lowTarget = try PushTarget(url: "whip+https://b.example/SECRET", rendition: "low")
      #expect(pushes.entries.withLock { $0.last } == [.new(lowTarget)])
    }
  }

  @Test func `a body that is no list of pushes changes nothing, and its answer quotes nothing of it`() async throws {
    let bodies = [
      "", "SECRET", "[]", "{}", #"{"pushes":"SECRET"}"#, #"{"pushes":["rtmp://h/a/SECRET"]}"#, #"{"pushes":[{}]}"#,
      #"{"pushes":[{"url":"SECRET"}]}"#, #"{"pushes":[{"url":"rtmp://h/a/"}]}"#, #"{"pushes":[{"SECRET":1}]}"#,
      #"{"pushes":[{"url":"rtmp://h/a/SECRET","id":1}]}"#, #"{"pushes":[{"id":"SECRET"}]}"#,
      #"{"pushes":[{"url":"rtmp://h/a/SECRET","bitrate":1}]}"#, #"{"pushes":[],"SECRET":1}"#,
      #"{"pushes":[{"url":"http://h/a/SECRET"}]}"#, #"{"pushes":[{"url":["rtmp://h/a/SECRET"]}]}"#,
      #"{"pushes":[{"url":"rtmp://h/a/k","token":"SECRET"}]}"#,
      #"{"pushes":[{"url":"whip+https://h/a","token":["SECRET"]}]}"#,
      #"{"pushes":[{"url":"rtmp://h/a/SECRET?rendition=low","rendition":"main"}]}"#,
      #"{"pushes":[{"url":"whip+https://h/a","token":"SECRET SECRET"}]}"#, #"{"pushes":[{"id":1,"token":"SECRET"}]}"#,
    ]
    try await self.withPushes { pushes, port in
      for body in bodies {
        let response = try await HTTPControlTests.send("PUT", body, to: Self.path, port: port)
        #expect(HTTPControlTests.status(response) == "400", "\(body)")
        #expect(!response.body.contains("SECRET") && response.body.count { $0 == "\n" } <= 1, "\(response.body)")
      }
      #expect(pushes.entries.withLock { $0.isEmpty })
      let form = try await HTTPControlTests.send(
        "PUT", #"{"pushes":[]}"#, to: Self.path, type: "text/plain", port: port)
      #expect(HTTPControlTests.status(form) == "415")
      let foreign = try await HTTPControlTests.send(
        "PUT", #"{"pushes":[]}"#, to: Self.path, port: port, "Origin: http://evil.example")
      #expect(HTTPControlTests.status(foreign) == "403")
      pushes.failure.withLock {
        $0 = VidiconError(.notFound, subject: "push 7", cause: "there is no such push", nextStep: "use another")
      }
      let unknown = try await HTTPControlTests.send("PUT", #"{"pushes":[{"id":7}]}"#, to: Self.path, port: port)
      #expect(HTTPControlTests.status(unknown) == "400" && unknown.body.contains("push 7"))
      let other = try await HTTPControlTests.send("GET", "", to: "/api/streams/other/pushes", port: port)
      #expect(HTTPControlTests.status(other) == "404")
    }
  }

  @Test func `metrics know pushes by their numbers`() async throws {
    try await self.withPushes { _, port in
      let text = try await RawClient.get("/metrics", port: port).body
      try await expectMetrics(text)
      for line in [
        #"vidicon_push_sending{stream="cam/1",push="1"} 1"#, #"vidicon_push_bitrate{stream="cam/1",push="1"} 900000"#,
        #"vidicon_push_queue_seconds{stream="cam/1",push="1"} 1.234"#,
        #"vidicon_push_state{stream="cam/1",push="1",state="sending"} 1"#,
        #"vidicon_push_state{stream="cam/1",push="1",state="waiting"} 0"#,
        #"vidicon_push_sent_bitrate{stream="cam/1",push="1"} 812345"#,
        #"vidicon_push_failed_attempts{stream="cam/1",push="1"} 4"#,
        #"vidicon_push_frames_dropped_total{stream="cam/1",push="1"} 3"#,
        #"vidicon_push_reconnects_total{stream="cam/1",push="1"} 2"#,
        #"vidicon_push_sent_bytes_total{stream="cam/1",push="1"} 12345"#,
      ] {
        #expect(text.contains(line), "\(line)")
      }
      #expect(!text.contains("example"))
    }
  }
}
