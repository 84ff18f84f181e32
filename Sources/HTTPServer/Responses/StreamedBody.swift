/// A response body that is made while the client reads it, such as events or images.
package protocol StreamedBody: AnyObject, Sendable {
  /// Writes the body to its end; throws when the client is gone. The head is written already.
  @concurrent func write(to writer: inout BodyWriter) async throws
}
