/// A request method, RFC 2326 §10. Names are case-sensitive.
package struct RTSPMethod: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
  /// The name in the request line.
  package let rawValue: String

  /// A method by its name; unknown names are allowed.
  package init(rawValue: String) {
    self.rawValue = rawValue
  }

  /// Requests the supported methods, RFC 2326 §10.1.
  package static let options = RTSPMethod(rawValue: "OPTIONS")
  /// Requests the session description, RFC 2326 §10.2.
  package static let describe = RTSPMethod(rawValue: "DESCRIBE")
  /// Sends a session description, RFC 2326 §10.3.
  package static let announce = RTSPMethod(rawValue: "ANNOUNCE")
  /// Negotiates the transport of one track, RFC 2326 §10.4.
  package static let setup = RTSPMethod(rawValue: "SETUP")
  /// Starts the sending of media, RFC 2326 §10.5.
  package static let play = RTSPMethod(rawValue: "PLAY")
  /// Pauses the sending of media, RFC 2326 §10.6.
  package static let pause = RTSPMethod(rawValue: "PAUSE")
  /// Ends the session, RFC 2326 §10.7.
  package static let teardown = RTSPMethod(rawValue: "TEARDOWN")
  /// Reads a parameter; keep-alive without a body, RFC 2326 §10.8.
  package static let getParameter = RTSPMethod(rawValue: "GET_PARAMETER")
  /// Sets a parameter, RFC 2326 §10.9.
  package static let setParameter = RTSPMethod(rawValue: "SET_PARAMETER")
  /// Redirects the client to another server, RFC 2326 §10.10.
  package static let redirect = RTSPMethod(rawValue: "REDIRECT")
  /// Starts the recording of media, RFC 2326 §10.11.
  package static let record = RTSPMethod(rawValue: "RECORD")

  /// Name of the method as in a request line.
  package var description: String { self.rawValue }
}
