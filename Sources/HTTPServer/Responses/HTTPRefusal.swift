internal import Authentication
internal import HTTPTypes

/// Ends the processing of a request with an error response.
struct HTTPRefusal: Error {
  var response: ServerResponse

  init(_ response: ServerResponse) {
    self.response = response
  }
}

/// A malformed or out-of-range query parameter.
struct HTTPParameterError: Error, Hashable {
  var name: String
  var expectation: String

  /// 400 with the parameter and its range.
  var response: ServerResponse { .text(.badRequest, "\(self.name) must be \(self.expectation)") }
}

extension HTTPTarget {
  /// Parses a decimal parameter; nil when it is absent.
  func number(_ name: String, in range: ClosedRange<Int>) throws(HTTPParameterError) -> Int? {
    guard let text = self.parameter(name) else { return nil }
    guard let number = text.decimal(as: Int.self), range.contains(number) else {
      throw HTTPParameterError(name: name, expectation: "a number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }
}
