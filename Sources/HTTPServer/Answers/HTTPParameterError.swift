internal import Authentication
internal import HTTPTypes

/// A parameter of a query that is not what it must be.
struct HTTPParameterError: Error, Hashable {
  var name: String
  var expectation: String

  /// 400, with what is wrong.
  var answer: HTTPAnswer { .text(.badRequest, "\(self.name) is \(self.expectation)") }
}

extension HTTPTarget {
  /// The number that a parameter gives; nil without one.
  func number(_ name: String, in range: ClosedRange<Int>) throws(HTTPParameterError) -> Int? {
    guard let text = self.parameter(name) else { return nil }
    guard let number = text.decimal(as: Int.self), range.contains(number) else {
      throw HTTPParameterError(name: name, expectation: "a number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }
}
