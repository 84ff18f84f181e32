/// Port, addresses and ICE servers of a `WebRTCServer`.
public struct WebRTCServerSettings: Hashable, Sendable {
  /// The UDP port, 0 to 65 535, of all viewers, and the TCP port of those whose networks carry no UDP; 0 for any free one.
  public var port: Int
  /// Whether a server without this port does not start. Otherwise it takes any free one, or is without WebRTC, and a line says so.
  public var isRequired = true
  /// The numeric address to listen on; nil for all IPv4 and IPv6 addresses of this machine.
  public var address: String?
  /// Numeric addresses at which clients reach this machine, beside its own: that of a router that forwards the port, or of the
  /// host of a container.
  public var candidateAddresses: [String] = []
  /// STUN and TURN servers for clients, which get them with the answer.
  public var iceServers: [ICEServer] = []
  /// Maximum number of sessions of viewers and publishers at a time; 1000 by default.
  public var maximumSessionCount = 1000
  /// Maximum number of sessions that one IPv4 address, or network of 64 bits in IPv6, opens.
  public var maximumSessionCountPerClient = 100

  /// Creates settings of a UDP port.
  public init(port: Int = 8189) {
    self.port = port
  }
}
