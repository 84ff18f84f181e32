internal import Authentication
package import HTTPTypes
package import Media

/// A request that is refused, with the status and the text of the response.
package struct HTTPRefusal: Error, Hashable {
  /// Statuses that count as malformed: a mistake of the client program, not of its user.
  static let malformedStatuses: Set<HTTPResponse.Status> = [
    .badRequest, .contentTooLarge, .uriTooLong, .requestHeaderFieldsTooLarge,
  ]

  /// Status of the response.
  package var status: HTTPResponse.Status
  /// One line for users: what is wrong, and the valid values.
  package var reason: String
  /// Further fields of the response.
  var fields: HTTPFields

  /// A malformed request: 400.
  package init(_ reason: String) {
    self.init(.badRequest, reason)
  }

  /// A request that is refused with another status, and with further fields of the response.
  package init(_ status: HTTPResponse.Status, _ reason: String, _ fields: HTTPFields = [:]) {
    self.status = status
    self.reason = reason
    self.fields = fields
  }

  /// Converts the error of a change that was refused.
  ///
  /// - Parameter badRequests: Codes for which the client is at fault.
  package init(_ error: VidiconError, badRequests: Set<VidiconError.Code> = [.invalidSpecification]) {
    let status: HTTPResponse.Status =
      switch error.code {
      case let code where badRequests.contains(code): .badRequest
      case .notPermitted: .forbidden
      case .wrongState: .conflict
      case .busy: .serviceUnavailable
      default: .badGateway
      }
    self.init(status, error.description, status == .serviceUnavailable ? [.retryAfter: "5"] : [:])
  }

  /// The response to the request, which changed nothing.
  package var response: ServerResponse { .text(self.status, self.reason, self.fields) }
}

extension HTTPTarget {
  /// Parses a decimal parameter; nil when it is absent.
  ///
  /// - Throws: ``HTTPRefusal`` with status 400 for a value that is malformed or out of range.
  package func number(_ name: String, in range: ClosedRange<Int>) throws(HTTPRefusal) -> Int? {
    guard let text = self.parameter(name) else { return nil }
    guard let number = text.decimal(as: Int.self), range.contains(number) else {
      throw HTTPRefusal("\(name) must be a number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }
}
