internal import Authentication
internal import HTTPTypes

extension ConnectionTable.Use {
  /// The use of a connection whose response has no end of its own: events and motion JPEG; nil for other
  /// responses.
  init?(endless response: HTTPResponse) {
    guard response.status == .ok, let type = response.headerFields[.contentType] else { return nil }
    if type.hasPrefix(EndlessMediaType.events) {
      self = .events
    } else if type.hasPrefix(EndlessMediaType.replacedParts) {
      self = .motionJPEG
    } else {
      return nil
    }
  }
}

extension HTTPRequest {
  /// Whether its head announces a body.
  var hasBody: Bool {
    self.headerFields[.transferEncoding] != nil || (self.headerFields[.contentLength] ?? "0") != "0"
  }
}
