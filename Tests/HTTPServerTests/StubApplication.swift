import HTTPTypes

@testable import ControlAPI
@testable import HTTPServer

/// An application for tests of connections: responds at once by a closure, and has the limits of bodies of the API.
final class StubApplication: HTTPApplication {
  private let response: @Sendable (HTTPRequest) -> ServerResponse?

  /// - Parameter response: The response to a request; nil where a task is to respond.
  init(_ response: @escaping @Sendable (HTTPRequest) -> ServerResponse? = { _ in nil }) {
    self.response = response
  }

  func respond(to request: HTTPRequest, client: HTTPClient, body: BodyReader) async -> ServerResponse { .notFound() }

  func respondAtOnce(to request: HTTPRequest, client: HTTPClient) -> ServerResponse? { self.response(request) }

  func maximumBodyBytes(method: String, path: String) -> Int? {
    HTTPBodyLimits.maximumBytes(method: method, path: path)
  }
}
