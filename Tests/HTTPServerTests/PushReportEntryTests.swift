import Foundation
import Media
import Pushing
import Testing

@testable import ControlAPI

@Suite("A push as JSON")
struct PushReportEntryTests {
  private static func json(_ report: PushReport) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(PushReportEntry(report)), as: UTF8.self)
  }

  @Test func `a measured bitrate stands beside the target`() throws {
    var status = PushStatus()
    status.phase = .sending
    (status.bitrate, status.hasOwnEncoding, status.queueAge) = (900_000, true, .microseconds(1_234_567))
    status.sentBitrate = 812_345
    let report = PushReport(id: 7, address: "rtmps://a.example/live2", rendition: "low", status: status)
    let counters = #""failedAttempts":0,"framesDropped":0,"id":7,"ownEncoding":true,"queue":1.235,"reconnects":0,"#
    let names = #""rendition":"low","server":"rtmps://a.example/live2","state":"sending""#
    let end = #","waitingForEncoding":false}"#
    #expect(
      try Self.json(report)
        == #"{"audioFramesDropped":0,"bitrate":812345,"bytesSent":0,"# + counters + names
        + #","videoBitrate":900000"# + end)
  }

  @Test func `a push that waits for an encoding says so beside what it gets meanwhile`() throws {
    var status = PushStatus()
    (status.phase, status.bitrate, status.isWaitingForEncoding) = (.sending, 2_300_000, true)
    let text = try Self.json(PushReport(id: 3, address: "rtmp://a.example/app", status: status))
    #expect(text.contains(#""waitingForEncoding":true"#) && text.contains(#""ownEncoding":false"#))
    #expect(text.contains(#""videoBitrate":2300000"#) && text.contains(#""state":"sending""#))
  }

  @Test func `a push that waits has the time of its next attempt and the reason`() throws {
    var status = PushStatus()
    status.phase = .waiting(until: .zero)
    (status.failedAttempts, status.lastFailure) = (4, "connection refused")
    let report = PushReport(
      id: 1, address: "rtmp://a.example/app", status: status, nextAttempt: .milliseconds(3260))
    let text = try Self.json(report)
    #expect(text.contains(#""failedAttempts":4"#) && text.contains(#""lastFailure":"connection refused""#))
    #expect(text.contains(#""nextAttempt":3.3"#) && text.contains(#""rendition":"main""#))
    #expect(text.contains(#""state":"waiting""#))
  }
}
