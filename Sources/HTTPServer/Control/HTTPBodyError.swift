internal import HTTPTypes
internal import Media

/// A request body that is refused, with the status of the response.
package struct HTTPBodyError: Error, Hashable {
  var status: HTTPResponse.Status
  /// One line for users: the key, what is wrong with its value, and the valid values.
  package var reason: String

  /// A malformed body: 400.
  init(_ reason: String) {
    self.init(.badRequest, reason)
  }

  init(_ status: HTTPResponse.Status, _ reason: String) {
    self.status = status
    self.reason = reason
  }

  /// Converts the error of a change that the stream's controls refused.
  ///
  /// - Parameter badRequests: Codes for which the client is at fault.
  init(_ error: VidiconError, badRequests: Set<VidiconError.Code> = [.invalidSpecification]) {
    let status: HTTPResponse.Status =
      switch error.code {
      case let code where badRequests.contains(code): .badRequest
      case .notPermitted: .forbidden
      case .wrongState: .conflict
      case .busy: .serviceUnavailable
      default: .badGateway
      }
    self.init(status, error.description)
  }
}

extension ServerResponse {
  /// The response to a request that changed nothing.
  static func refusal(_ error: HTTPBodyError) -> ServerResponse {
    .text(error.status, error.reason, error.status == .serviceUnavailable ? [.retryAfter: "5"] : [:])
  }
}
