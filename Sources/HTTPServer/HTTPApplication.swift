package import HTTPTypes
package import NIOCore

/// The resources that an ``HTTPServer`` serves: responds to its requests, on the event loops of their connections.
///
/// `HTTPResponder` is the program's. The server asks it first for what is ready on the event loop, then in a task of the request:
///
/// ```swift
/// if let response = application.respondAtOnce(to: request, client: client) { return response }
/// let response = await application.respond(to: request, client: client, body: body)
/// ```
package protocol HTTPApplication: AnyObject, Sendable {
  /// Reads the body of a request; nil when it is longer than `maximumBytes` or incomplete.
  typealias BodyReader = (_ maximumBytes: Int) async -> ByteBuffer?

  /// Responds to a request, in a task that is cancelled when its connection or stream of HTTP/2 ends.
  ///
  /// - Parameters:
  ///   - client: Addresses of the connection.
  ///   - body: Reads the request body; called at most once.
  func respond(to request: HTTPRequest, client: HTTPClient, body: BodyReader) async -> ServerResponse

  /// Responds to a GET without a body, without waiting, on the connection's event loop; nil for a request that needs a task, which
  /// leaves no trace.
  ///
  /// - Returns: A finished response whose body, if any, is bytes.
  func respondAtOnce(to request: HTTPRequest, client: HTTPClient) -> ServerResponse?

  /// Maximum size of the body of a request whose resource has a limit of its own, in bytes; nil for those with
  /// ``HTTPServerLimits/bodyBytes``.
  ///
  /// - Parameter path: Path and query as the client sent them.
  func maximumBodyBytes(method: String, path: String) -> Int?
}

extension HTTPApplication {
  /// Maximum size of the body of a request, in bytes.
  ///
  /// - Parameter limit: ``HTTPServerLimits/bodyBytes``; one that is greater applies to all resources.
  func maximumBodyBytes(method: String, path: String, default limit: Int) -> Int {
    max(limit, self.maximumBodyBytes(method: method, path: path) ?? 0)
  }
}
