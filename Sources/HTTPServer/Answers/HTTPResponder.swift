internal import Authentication
internal import Capture
internal import HTTPTypes
internal import HummingbirdCore
internal import Media
internal import NIOCore
internal import Streaming

/// Answers requests: what is asked, who asks, and what HTTP itself wants of every answer.
struct HTTPResponder: Sendable {
  let streams: PublishedStreams
  let extras: HTTPServerExtras
  let authenticator: Authenticator
  let clock = StreamClock.system

  /// Answers one request.
  func answer(_ request: HTTPRequest) async -> HTTPAnswer {
    let target: HTTPTarget
    do throws(HTTPTarget.Failure) {
      target = try HTTPTarget(parsing: request.path ?? "")
    } catch {
      switch error {
      case .malformed(let reason): return .text(.badRequest, reason)
      case .notFound: return .text(.notFound, "there is nothing here")
      }
    }
    switch HTTPRoute(target.components, names: self.streams.names) {
    case .health: return .text(.ok, "ok")
    default: return .text(.notFound, "there is nothing here")
    }
  }
}
