internal import Authentication
internal import Media
internal import Pushing

/// The body of `GET /api/streams/NAME/pushes`.
struct PushList: Encodable, Sendable {
  var pushes: [PushDescription]
}

extension PushEntry {
  private enum Key: String, CaseIterable {
    case id, url, rendition, bitrate, adaptive, token
  }

  private static let form = #"{"pushes": [{"url": "rtmp://HOST/APP/KEY"}, {"id": 1}]}"#

  /// Parses the body of `PUT /api/streams/NAME/pushes`. No error contains what a member says: it may be a stream key
  /// or a token.
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
    var (id, url, rendition): (Int?, String?, String) = (nil, nil, RenditionName.main)
    var (bitrate, isAdaptive): (Int?, Bool) = (nil, true)
    var token: Secret?
    for (name, value) in members {
      switch (Key(rawValue: name), value) {
      case (.id, .integer(let number)): id = number
      case (.url, .string(let text)): url = text
      case (.rendition, .string(let text)): rendition = text
      case (.token, .string(let text)): token = Secret(text)
      case (.bitrate, .integer(let number)): bitrate = number
      case (.adaptive, .boolean(let value)): isAdaptive = value
      default:
        throw HTTPRefusal(
          "a push has \"id\" (a number), or \"url\", \"token\", \"rendition\" (texts), \"bitrate\" (bits per second) and \"adaptive\" (true or false)"
        )
      }
    }
    if let id, members.count == 1 { return .existing(id) }
    guard id == nil, let url else { throw HTTPRefusal("a push has either \"id\" alone, or a \"url\"") }
    do throws(VidiconError) {
      return .new(
        try PushTarget(
          url: url, token: token, rendition: rendition, bitrate: bitrate, isAdaptive: isAdaptive))
    } catch {
      throw HTTPRefusal(error)
    }
  }
}
