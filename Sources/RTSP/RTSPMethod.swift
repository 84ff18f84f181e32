/// What a request asks for, RFC 2326 §10. Names are case-sensitive.
public struct RTSPMethod: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
  /// The name as it stands in the request line.
  public let rawValue: String

  /// A method by its name, known or not.
  public init(rawValue: String) {
    self.rawValue = rawValue
  }

  /// What the server can do, RFC 2326 §10.1.
  public static let options = RTSPMethod(rawValue: "OPTIONS")
  /// The session description, RFC 2326 §10.2.
  public static let describe = RTSPMethod(rawValue: "DESCRIBE")
  /// A description sent to the other side, RFC 2326 §10.3.
  public static let announce = RTSPMethod(rawValue: "ANNOUNCE")
  /// The transport of one track, RFC 2326 §10.4.
  public static let setup = RTSPMethod(rawValue: "SETUP")
  /// Begins the sending of media, RFC 2326 §10.5.
  public static let play = RTSPMethod(rawValue: "PLAY")
  /// Halts the sending, RFC 2326 §10.6.
  public static let pause = RTSPMethod(rawValue: "PAUSE")
  /// Ends the session, RFC 2326 §10.7.
  public static let teardown = RTSPMethod(rawValue: "TEARDOWN")
  /// Reads a parameter; without a body a sign of life, RFC 2326 §10.8.
  public static let getParameter = RTSPMethod(rawValue: "GET_PARAMETER")
  /// Sets a parameter, RFC 2326 §10.9.
  public static let setParameter = RTSPMethod(rawValue: "SET_PARAMETER")
  /// Sends the client elsewhere, RFC 2326 §10.10.
  public static let redirect = RTSPMethod(rawValue: "REDIRECT")
  /// Begins the receiving of media, RFC 2326 §10.11.
  public static let record = RTSPMethod(rawValue: "RECORD")

  /// The name.
  public var description: String { self.rawValue }
}
