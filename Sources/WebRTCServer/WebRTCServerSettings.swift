/// Port and addresses of a `WebRTCServer`.
public struct WebRTCServerSettings: Hashable, Sendable {
  /// The UDP port, 0 to 65 535, of all viewers; 0 for any free one.
  public var port: Int
  /// The numeric address to listen on; nil for all IPv4 and IPv6 addresses of this machine.
  public var address: String?
  /// Numeric addresses at which clients reach this machine, beside its own: that of a router that forwards the port, or of the
  /// host of a container.
  public var candidateAddresses: [String] = []
  /// Maximum number of sessions.
  public var maximumSessionCount = 1000
  /// Maximum number of sessions that one IPv4 address, or network of 64 bits in IPv6, opens.
  public var maximumSessionCountPerClient = 100

  /// Creates settings of a UDP port.
  public init(port: Int = 8189) {
    self.port = port
  }
}
