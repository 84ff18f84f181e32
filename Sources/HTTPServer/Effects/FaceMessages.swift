internal import Effects
internal import Media
internal import Streaming
internal import Threading

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// What is told of the faces in a stream's pictures, as messages with a name and JSON: each event, named `face`, and where
/// the faces are, named `faces`, when that has changed and at most ten times a second.
struct FaceMessages {
  /// A rectangle in pixels.
  private struct Box: Encodable, Hashable {
    var x: Int
    var y: Int
    var width: Int
    var height: Int

    init(_ box: Face.Box) {
      func pixels(_ value: Float) -> Int { Int(exactly: value.rounded()) ?? 0 }
      (self.x, self.y) = (pixels(box.x), pixels(box.y))
      (self.width, self.height) = (pixels(box.width), pixels(box.height))
    }
  }

  /// What is told of a face.
  private struct Entry: Encodable, Hashable {
    var id: Int
    var box: Box
    var smiling: Bool
    var leftEyeClosed: Bool
    var rightEyeClosed: Bool

    init(_ face: Face) {
      (self.id, self.box, self.smiling) = (face.id, Box(face.box), face.isSmiling)
      (self.leftEyeClosed, self.rightEyeClosed) = (face.leftEyeClosed, face.rightEyeClosed)
    }
  }

  /// Where the faces are, and in which picture.
  private struct Faces: Encodable {
    /// Seconds on the timeline of the stream's fMP4.
    var time: Double
    /// The time of day of the capture.
    var date: String
    /// Pixels across of the picture.
    var width: Int
    /// Pixels down.
    var height: Int
    var faces: [Entry]
  }

  /// Something that happened to a face.
  private struct Event: Encodable {
    var time: Double
    var date: String
    var event: String
    var id: Int
    var box: Box
  }

  /// The name of messages of what happened to a face.
  static let face = "face"
  /// The name of messages of where the faces are.
  static let faces = "faces"
  /// The least time between two tellings of where the faces are, on average.
  static let interval = MediaDuration.milliseconds(100)

  private var told: [Entry] = []
  /// From when on it may be told again where the faces are.
  private var due: MediaTime?

  /// What is to be told of a picture, in this order.
  mutating func messages(of picture: TimedFrameMetadata) -> [TimedMetadata] {
    let events = picture.metadata.faceEvents.map { event in
      // An event may be known some pictures later only, and what is told comes in order.
      Self.message(
        Self.face, at: picture.timestamp,
        Event(
          time: Self.seconds(event.time), date: Self.date(event.time), event: event.kind.rawValue, id: event.face,
          box: Box(event.box)))
    }
    return events + (self.faces(in: picture).map { [$0] } ?? [])
  }

  private mutating func faces(in picture: TimedFrameMetadata) -> TimedMetadata? {
    let faces = picture.metadata.faces.map(Entry.init)
    let time = picture.timestamp
    let due = self.due ?? time
    // That there are none any more may be the last that is told.
    guard faces != self.told, time >= due || faces.isEmpty else { return nil }
    self.told = faces
    // Pictures jitter: one that comes a little late does not put off the ones after it.
    self.due = (time - due < Self.interval / 2 ? due : time) + Self.interval
    return Self.message(
      Self.faces, at: time,
      Faces(
        time: Self.seconds(time), date: Self.date(time), width: picture.width, height: picture.height, faces: faces))
  }

  private static func message(_ name: String, at time: MediaTime, _ content: some Encodable) -> TimedMetadata {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    // It fails for numbers that are not finite only, and there is none.
    let text = (try? encoder.encode(content)).map { String(decoding: $0, as: UTF8.self) }
    return TimedMetadata(time: time, name: name, text: text ?? "{}")
  }

  /// To a millisecond.
  private static func seconds(_ time: MediaTime) -> Double {
    (time.seconds * 1000).rounded() / 1000
  }

  private static func date(_ time: MediaTime) -> String {
    CalendarTime(unixTime: MediaDuration(nanoseconds: StreamClock.system.unixTime(at: time))).rfc3339
  }
}
