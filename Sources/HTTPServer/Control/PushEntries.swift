internal import Media
internal import Pushing

/// A push of a stream, element of `GET /api/streams/NAME/pushes`. Keys are documented in `openapi.json`.
struct PushDescription: Encodable, Sendable {
  var id: Int
  /// Without the stream key.
  var server: String
  var rendition: String
  /// `connecting`, `sending`, `waiting` or `stopped`.
  var state: String
  /// Target bitrate of the video, in bits per second.
  var bitrate: Int
  /// Whether an encoding is made for this push alone.
  var ownEncoding: Bool
  /// Age of the oldest media that has not left, in seconds.
  var queue: Double
  var framesDropped: Int
  var audioFramesDropped: Int
  var reconnects: Int
  var failedAttempts: Int
  var bytesSent: Int
  /// Why the last connection or attempt has ended; nil before the first has.
  var lastFailure: String?
  /// Seconds until the next attempt; nil while none waits.
  var nextAttempt: Double?

  init(_ report: PushReport) {
    let status = report.status
    self.id = report.id
    self.server = report.address
    self.rendition = report.rendition ?? "main"
    self.state = status.phase.name
    self.bitrate = status.bitrate
    self.ownEncoding = status.hasOwnEncoding
    self.queue = (status.queueAge.seconds * 1000).rounded() / 1000
    self.framesDropped = status.droppedFrames
    self.audioFramesDropped = status.droppedAudioFrames
    self.reconnects = status.reconnects
    self.failedAttempts = status.failedAttempts
    self.bytesSent = status.sentByteCount
    self.lastFailure = status.lastFailure
    self.nextAttempt = report.nextAttempt.map { ($0.seconds * 10).rounded() / 10 }
  }
}

/// The body of `GET /api/streams/NAME/pushes`.
struct PushList: Encodable, Sendable {
  var pushes: [PushDescription]
}

extension PushEntry {
  private enum Key: String, CaseIterable {
    case id, url, rendition, bitrate, adaptive
  }

  private static let form = #"{"pushes": [{"url": "rtmp://HOST/APP/KEY"}, {"id": 1}]}"#

  /// Parses the body of `PUT /api/streams/NAME/pushes`. No error contains what a member says: it may be a stream key.
  static func list(_ json: JSONValue) throws(HTTPRefusal) -> [PushEntry] {
    guard case .object(let members) = json, members.count == 1, case .array(let values)? = members["pushes"] else {
      throw HTTPRefusal("the body is \(Self.form)")
    }
    var entries: [PushEntry] = []
    for value in values { entries.append(try Self.entry(value)) }
    return entries
  }

  private static func entry(_ value: JSONValue) throws(HTTPRefusal) -> PushEntry {
    guard case .object(let members) = value else { throw HTTPRefusal("the body is \(Self.form)") }
    var (id, url, rendition, bitrate, isAdaptive): (Int?, String?, String?, Int?, Bool) = (nil, nil, nil, nil, true)
    for (name, value) in members {
      switch (Key(rawValue: name), value) {
      case (.id, .integer(let number)): id = number
      case (.url, .string(let text)): url = text
      case (.rendition, .string(let text)): rendition = text
      case (.bitrate, .integer(let number)): bitrate = number
      case (.adaptive, .boolean(let value)): isAdaptive = value
      default:
        throw HTTPRefusal(
          "a push has \"id\" (a number), or \"url\", \"rendition\" (texts), \"bitrate\" (bits per second) and \"adaptive\" (true or false)"
        )
      }
    }
    if let id, members.count == 1 { return .existing(id) }
    guard id == nil, let url else { throw HTTPRefusal("a push has either \"id\" alone, or a \"url\"") }
    do throws(VidiconError) {
      return .new(
        try PushTarget(
          url: url, rendition: rendition == "main" ? nil : rendition, bitrate: bitrate, isAdaptive: isAdaptive))
    } catch {
      throw HTTPRefusal(error)
    }
  }
}
