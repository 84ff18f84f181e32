internal import HTTPTypes

/// A body that is not what it must be.
package struct HTTPBodyError: Error, Hashable {
  var status: HTTPResponse.Status
  /// What is wrong, naming the key.
  package var reason: String

  /// 400.
  init(_ reason: String) {
    self.init(.badRequest, reason)
  }

  init(_ status: HTTPResponse.Status, _ reason: String) {
    self.status = status
    self.reason = reason
  }
}
