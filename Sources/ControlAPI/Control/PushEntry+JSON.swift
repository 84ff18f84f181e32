internal import Authentication
internal import HTTPServer
internal import Media
internal import Pushing

extension PushEntry {
  private enum ListKey: String, CaseIterable {
    case pushes
  }

  private enum Key: String, CaseIterable {
    case id, url, rendition, bitrate, adaptive, token
  }

  private static let form = #"{"pushes": [{"url": "rtmp://HOST/APP/KEY"}, {"id": 1}]}"#
  private static let rule =
    #"a push has "id" (a number), or "url", "token", "rendition" (texts), "bitrate" (bits per second) and "adaptive" (true or false)"#

  /// Parses the body of `PUT /api/streams/NAME/pushes`. No error contains what a member says: it may be a stream key
  /// or a token.
  static func list(_ json: JSONValue) throws(HTTPRefusal) -> [PushEntry] {
    let reason = "the body is \(Self.form)"
    let members = try JSONMembers(json, keys: ListKey.self, form: Self.form, secretsReason: reason)
    let values = try members.requiredValue(.pushes, "", as: \.array)
    var entries: [PushEntry] = []
    for value in values { entries.append(try Self.entry(value)) }
    return entries
  }

  private static func entry(_ json: JSONValue) throws(HTTPRefusal) -> PushEntry {
    let members = try JSONMembers(json, keys: Key.self, form: Self.form, secretsReason: Self.rule)
    let id = try members.value(.id, "", as: \.integer)
    let url = try members.value(.url, "", as: \.text)
    let rendition = try members.value(.rendition, "", as: \.text)
    let token = try members.value(.token, "", as: \.text)
    let bitrate = try members.value(.bitrate, "", as: \.integer)
    let isAdaptive = try members.value(.adaptive, "", as: \.boolean)
    if let id, members.count == 1 { return .existing(id) }
    guard id == nil, let url else { throw HTTPRefusal("a push has either \"id\" alone, or a \"url\"") }
    do throws(VidiconError) {
      return .new(
        try PushTarget(
          url: url, token: token.map { Secret($0) }, rendition: rendition, bitrate: bitrate,
          isAdaptive: isAdaptive ?? true))
    } catch {
      throw HTTPRefusal(error)
    }
  }
}
