internal import Effects

extension HTTPRoute {
  /// The path of a resource that clients with the right to control change, as openapi.json has it: parameters are names in braces, so
  /// that the log has no text of a client. Empty for others.
  var controlPath: String {
    let part: String
    switch self {
    case .reload: return "/api/reload"
    case .check: return "/api/check"
    case .stream: part = ""
    case .recording: part = "/recording"
    case .source: part = "/source"
    case .effects: part = "/effects"
    case .effectImage(let use, _): part = "/effects/\(use.rawValue)"
    case .rendition: part = "/renditions/{rendition}"
    case .pushes: part = "/pushes"
    default: return ""
    }
    return "/api/streams/{name}\(part)"
  }

  /// The served stream of such a resource; nil for others.
  var controlledStream: String? {
    switch self {
    case .stream(let name), .recording(let name), .source(let name), .effects(let name), .effectImage(_, let name),
      .rendition(_, let name), .pushes(let name):
      name
    default: nil
    }
  }
}
