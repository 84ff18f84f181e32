public import Media

/// What becomes of a request.
public enum HLSAnswer: Hashable, Sendable {
  /// 200, with this.
  case content(HLSContent)
  /// Not yet: ask again with the same request whenever ``HLSEffects/wakesRequests`` says so, and at this time.
  case wait(until: MediaTime)
  /// 404: there is no such file, no longer, or not yet.
  case notFound
  /// 400, with the reason in one line.
  case badRequest(String)
  /// 503: what was waited for has not come in time.
  case unavailable
}
