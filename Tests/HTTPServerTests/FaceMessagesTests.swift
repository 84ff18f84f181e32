import Effects
import Foundation
import Media
import NIOCore
import Streaming
import Testing

@testable import ControlAPI

@Suite("Messages about tracked faces")
struct FaceMessagesTests {
  static func face(_ id: Int, x: Float = 10.4, isSmiling: Bool = false) -> Face {
    Face(
      id: id, box: .init(x: x, y: 20.6, width: 30, height: 40), roll: 0,
      keyPoints: .init(
        rightEye: .zero, leftEye: .zero, nose: .zero, mouth: .zero, rightEar: .zero, leftEar: .zero),
      isSmiling: isSmiling)
  }

  static func frame(
    at time: MediaTime, _ faces: [Face], _ events: [FaceEvent] = []
  ) -> TimedFrameMetadata {
    var metadata = FrameMetadata()
    metadata.faceTracking = .current
    (metadata.faces, metadata.faceEvents) = (faces, events)
    return TimedFrameMetadata(timestamp: time, width: 640, height: 360, metadata: metadata)
  }

  private static let start = MediaTime.zero + .seconds(100)

  private static func fields(_ message: TimedMetadata) throws -> NSDictionary {
    let object = try JSONSerialization.jsonObject(with: Data(message.text.utf8)) as? [String: Any]
    var fields = try #require(object)
    let date = try #require(fields.removeValue(forKey: "date") as? String)
    #expect(date.hasSuffix("Z") && date.count == "2026-11-21T07:41:03.123Z".count)
    return fields as NSDictionary
  }

  @Test func `events precede face positions, in whole pixels`() throws {
    var messages = FaceMessages()
    let event = FaceEvent(
      .smile, face: 7, time: Self.start - .milliseconds(33), box: .init(x: -3, y: 1, width: 2.5, height: 4))
    let received = messages.messages(of: Self.frame(at: Self.start, [Self.face(7, isSmiling: true)], [event]))
    #expect(received.map(\.name) == ["face", "faces"])
    #expect(received.map(\.time) == [Self.start, Self.start])
    #expect(
      try Self.fields(received[0]) == [
        "time": 99.967, "event": "smile", "id": 7, "box": ["x": -3, "y": 1, "width": 3, "height": 4],
      ])
    #expect(
      try Self.fields(received[1]) == [
        "time": 100, "width": 640, "height": 360,
        "faces": [
          [
            "id": 7, "box": ["x": 10, "y": 21, "width": 30, "height": 40], "smiling": true, "leftEyeClosed": false,
            "rightEyeClosed": false,
          ]
        ],
      ])
  }

  @Test func `positions are reported when they change, at most ten times a second`() {
    var messages = FaceMessages()
    var count = 0
    for index in 0..<300 {
      let time = FrameRate(30).time(ofFrame: Int64(index), from: Self.start)
      count += messages.messages(of: Self.frame(at: time, [Self.face(1, x: Float(index))])).count
      #expect(count <= index / 3 + 1)
    }
    #expect(count == 100)
    let still = (300..<400).map { index in
      messages.messages(
        of: Self.frame(
          at: FrameRate(30).time(ofFrame: Int64(index), from: Self.start), [Self.face(1, x: 299 + Float(index % 2) / 4)]
        )
      ).count
    }
    #expect(still.reduce(0, +) == 1, "the last place, and then nothing")
  }

  @Test func `a late frame does not delay later reports, and a gap causes no burst`() {
    var messages = FaceMessages()
    let times: [Int64] = [0, 130, 200, 233, 5000, 5033, 5066, 5100, 5133]
    let reported = times.filter { milliseconds in
      let faces = [Self.face(1, x: Float(milliseconds))]
      return !messages.messages(of: Self.frame(at: Self.start + .milliseconds(milliseconds), faces)).isEmpty
    }
    #expect(reported == [0, 130, 200, 5000, 5100])
  }

  @Test func `the disappearance of faces is reported at once, their initial absence is not`() {
    var messages = FaceMessages()
    #expect(messages.messages(of: Self.frame(at: Self.start, [])).isEmpty)
    #expect(messages.messages(of: Self.frame(at: Self.start, [Self.face(1)])).count == 1)
    #expect(messages.messages(of: Self.frame(at: Self.start + .milliseconds(1), [])).count == 1)
    #expect(messages.messages(of: Self.frame(at: Self.start + .milliseconds(500), [])).isEmpty)
  }

  @Test func `non-finite coordinates do not trap`() throws {
    var face = Self.face(1, x: .nan)
    face.box.width = .infinity
    var messages = FaceMessages()
    let received = messages.messages(of: Self.frame(at: MediaTime(nanoseconds: .min), [face]))
    #expect(try #require(received.first).text.contains(#""box":{"height":40,"width":0,"x":0,"y":21}"#))
    _ = messages.messages(of: Self.frame(at: MediaTime(nanoseconds: .max), [Self.face(1)]))
  }

  @Test func `a message is serialized as a server-sent event`() {
    let message = TimedMetadata(time: .zero, name: "face", text: "{}")
    #expect(String(buffer: ServerSentEvent.bytes(message)) == "event: face\ndata: {}\n\n")
  }
}
