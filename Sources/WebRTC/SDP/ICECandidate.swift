package import Media

/// A candidate of `a=candidate`, RFC 8839 §5.1: an address where a side of an ICE session may be reached.
package struct ICECandidate: Hashable, Sendable, CustomStringConvertible {
  /// Kinds of candidates by the origin of their address, RFC 8445 §5.1.1.
  package enum Kind: String, Hashable, Sendable, CaseIterable {
    /// An address of the host itself.
    case host
    /// The address that a STUN server saw.
    case serverReflexive = "srflx"
    /// The address that a peer saw.
    case peerReflexive = "prflx"
    /// An address of a TURN server.
    case relayed = "relay"

    /// Type preference, RFC 8445 §5.1.2.2.
    fileprivate var preference: UInt32 {
      switch self {
      case .host: 126
      case .peerReflexive: 110
      case .serverReflexive: 100
      case .relayed: 0
      }
    }
  }

  /// Equal for candidates of the same kind, base and server; 1 to 32 ice-chars.
  package var foundation: String
  /// 1 for RTP, with which RTCP is multiplexed.
  package var component: UInt16
  /// `udp` or `tcp`, in lower case.
  package var transport: String
  /// Candidates with a greater priority are tried first.
  package var priority: UInt32
  /// Numeric address and port; nil where a name stands for it, as the mDNS names of browsers.
  package var address: TransportAddress?
  /// Origin of the address, `typ`.
  package var kind: Kind

  /// Type preference of TCP, below those of UDP without a server between, RFC 6544 §4.2.
  private static let tcpPreference: UInt32 = 90

  /// A host candidate of this server; for TCP a passive one, to which clients connect.
  ///
  /// - Parameter rank: Position in the order of preference, from 0.
  package init(host address: TransportAddress, rank: Int) {
    self.foundation = "\(rank + 1)"
    self.component = 1
    self.transport = address.isTCP ? "tcp" : "udp"
    // RFC 8445 §5.1.2.1: type preference, local preference, 256 - component. RFC 6544 §4.2 puts the direction into the highest 3 bits
    // of the local preference: 4 for passive.
    let last: UInt32 = address.isTCP ? 4 << 13 | 8191 : 65_535
    let local = last - UInt32(min(max(rank, 0), 8191))
    self.priority = (address.isTCP ? Self.tcpPreference : Kind.host.preference) << 24 | local << 8 | 255
    self.address = address
    self.kind = .host
  }

  /// Parses the value of the attribute; unknown extensions are ignored.
  package init(parsing text: some StringProtocol) throws(ParsingError) {
    let words = text.split(separator: " ", maxSplits: 8, omittingEmptySubsequences: true)
    guard words.count >= 8, words[6] == "typ" else { throw ParsingError(.missing, field: "candidate") }
    guard (1...32).contains(words[0].utf8.count), let component = UInt16(words[1]), (1...256).contains(component),
      let priority = UInt32(words[3]), let port = UInt16(words[5]), words[4].utf8.count <= 255
    else { throw ParsingError(.invalid, field: "candidate") }
    guard let kind = Kind(rawValue: String(words[7])) else { throw ParsingError(.unsupported, field: "candidate") }
    self.foundation = String(words[0])
    self.component = component
    self.transport = words[2].lowercased()
    self.priority = priority
    self.address = TransportAddress(String(words[4]), port: port)
    self.address?.isTCP = self.transport == "tcp"
    self.kind = kind
  }

  /// The value of the attribute; of a candidate with a name the address 0.0.0.0.
  package var description: String {
    let address = self.address.map { "\($0.ip) \($0.port)" } ?? "0.0.0.0 9"
    return
      "\(self.foundation) \(self.component) \(self.transport) \(self.priority) \(address) typ \(self.kind.rawValue)"
      + (self.address?.isTCP == true ? " tcptype passive" : "")
  }
}
