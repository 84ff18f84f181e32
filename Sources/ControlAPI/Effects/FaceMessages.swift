internal import Effects
internal import Media
internal import Streaming
internal import Threading

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// Converts face metadata to named JSON messages: `face` for each event, and `faces` for the positions, when they have
/// changed and at most ten times per second.
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

  /// The JSON of one face.
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

  /// The positions of the faces in one frame.
  private struct Faces: Encodable {
    /// Seconds on the timeline of the stream's fMP4.
    var time: Double
    /// Wall-clock time of the capture, RFC 3339.
    var date: String
    /// Width of the frame, in pixels.
    var width: Int
    /// Height of the frame, in pixels.
    var height: Int
    var faces: [Entry]
  }

  /// The JSON of one event.
  private struct Event: Encodable {
    var time: Double
    var date: String
    var event: String
    var id: Int
    var box: Box
  }

  /// Name of event messages.
  static let face = "face"
  /// Name of position messages.
  static let faces = "faces"
  /// Minimum average interval of position messages.
  static let interval = MediaDuration.milliseconds(100)

  private var lastFaces: [Entry] = []
  /// Earliest time of the next position message.
  private var due: MediaTime?

  /// The messages of one frame, in order of delivery.
  mutating func messages(of frame: TimedFrameMetadata) -> [TimedMetadata] {
    let events = frame.metadata.faceEvents.map { event in
      // An event may be detected some frames late; messages carry the frame's time, which keeps them in order.
      Self.message(
        Self.face, at: frame.timestamp,
        Event(
          time: Self.seconds(event.time), date: Self.date(event.time), event: event.kind.rawValue, id: event.face,
          box: Box(event.box)))
    }
    return events + (self.faces(in: frame).map { [$0] } ?? [])
  }

  private mutating func faces(in frame: TimedFrameMetadata) -> TimedMetadata? {
    let faces = frame.metadata.faces.map(Entry.init)
    let time = frame.timestamp
    let due = self.due ?? time
    // The disappearance of the last face is always reported.
    guard faces != self.lastFaces, time >= due || faces.isEmpty else { return nil }
    self.lastFaces = faces
    // Frame times jitter: a frame that is slightly late does not delay the next message.
    self.due = (time - due < Self.interval / 2 ? due : time) + Self.interval
    return Self.message(
      Self.faces, at: time,
      Faces(
        time: Self.seconds(time), date: Self.date(time), width: frame.width, height: frame.height, faces: faces))
  }

  private static func message(_ name: String, at time: MediaTime, _ content: some Encodable) -> TimedMetadata {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    // Encoding fails for numbers that are not finite only, and there is none.
    let text = (try? encoder.encode(content)).map { String(decoding: $0, as: UTF8.self) }
    return TimedMetadata(time: time, name: name, text: text ?? "{}")
  }

  /// Seconds, rounded to a millisecond.
  private static func seconds(_ time: MediaTime) -> Double {
    (time.seconds * 1000).rounded() / 1000
  }

  private static func date(_ time: MediaTime) -> String {
    CalendarTime(unixTime: MediaDuration(nanoseconds: StreamClock.system.unixTime(at: time))).rfc3339
  }
}
