internal import Authentication
package import Media

/// A transport specification of one track: one alternative of a `Transport` header, RFC 2326 §12.39.
///
/// `destination` and `source` are ignored: packets are sent only to the address of the connection's client.
package struct RTSPTransport: Hashable, Sendable {
  /// The protocol that carries the packets.
  package enum LowerTransport: Hashable, Sendable {
    /// UDP; written as `RTP/AVP` or `RTP/AVP/UDP`.
    case udp
    /// Interleaved frames of the RTSP connection, RFC 2326 §10.12; written as `RTP/AVP/TCP`.
    case tcp
  }

  /// A pair of channels or ports.
  package struct Pair<Number: FixedWidthInteger & Sendable>: Hashable, Sendable {
    /// Channel or port of the RTP packets.
    package var rtp: Number
    /// Channel or port of the RTCP packets; usually the number after that of RTP.
    package var rtcp: Number

    /// Creates a pair of ports or channels.
    package init(rtp: Number, rtcp: Number) {
      self.rtp = rtp
      self.rtcp = rtcp
    }
  }

  /// The direction of the media, the parameter `mode`.
  package enum Mode: String, Hashable, Sendable {
    /// To the client.
    case play = "PLAY"
    /// To the server.
    case record = "RECORD"
  }

  /// The protocol that carries the packets.
  package var lowerTransport: LowerTransport
  /// Whether `UDP` is written out; a response repeats the form of the request.
  package var namesUDP = false
  /// Whether the client requests multicast. Without `unicast` and `multicast` it is unicast, as in other servers.
  package var isMulticast = false
  /// `interleaved`: the channels of the connection, ``LowerTransport/tcp`` only.
  package var interleaved: Pair<UInt8>?
  /// `client_port`: the ports of the client, ``LowerTransport/udp`` only.
  package var clientPorts: Pair<UInt16>?
  /// `server_port`: the ports of the server, ``LowerTransport/udp`` only.
  package var serverPorts: Pair<UInt16>?
  /// `ssrc`: the sender's synchronization source, RFC 3550 §3.
  package var ssrc: UInt32?
  /// `mode`: the direction of the media; nil when it is absent, which means play.
  package var mode: Mode?

  /// A unicast transport without channels or ports.
  package init(_ lowerTransport: LowerTransport) {
    self.lowerTransport = lowerTransport
  }

  /// Parses one transport specification; unknown parameters are ignored.
  ///
  /// - Throws: `ParsingError`: `.unsupported` when the profile is not `RTP/AVP`, `.invalid` when a known parameter
  ///   cannot be parsed.
  package init(parsing text: String) throws(ParsingError) {
    var parts = text.splitOutsideQuotes(UInt8(ascii: ";"))[...]
    let specification = parts.removeFirst()
    guard !specification.isEmpty else { throw Self.malformed }
    if specification.equalsIgnoringCase("RTP/AVP/TCP") {
      self.init(.tcp)
    } else if specification.equalsIgnoringCase("RTP/AVP") {
      self.init(.udp)
    } else if specification.equalsIgnoringCase("RTP/AVP/UDP") {
      self.init(.udp)
      self.namesUDP = true
    } else {
      throw ParsingError(.unsupported, field: RTSPField.transport)
    }
    for part in parts { try self.read(parameter: part) }
  }

  /// The supported transport specifications of a header, in the client's order of preference.
  ///
  /// - Throws: `ParsingError` when there is none: `.invalid` when at least one specification is malformed, else
  ///   `.unsupported`.
  package static func alternatives(parsing value: String) throws(ParsingError) -> [RTSPTransport] {
    var transports: [RTSPTransport] = []
    var reason = ParsingError(.unsupported, field: RTSPField.transport)
    for part in value.splitOutsideQuotes(UInt8(ascii: ",")) {
      do throws(ParsingError) {
        transports.append(try RTSPTransport(parsing: part))
      } catch {
        if error.code == .invalid { reason = error }
      }
    }
    guard !transports.isEmpty else { throw reason }
    return transports
  }

  /// The text of the specification, such as `RTP/AVP/TCP;unicast;interleaved=0-1`.
  package func serialize() -> String {
    var text = self.lowerTransport == .tcp ? "RTP/AVP/TCP" : self.namesUDP ? "RTP/AVP/UDP" : "RTP/AVP"
    text += self.isMulticast ? ";multicast" : ";unicast"
    if let pair = self.interleaved { text += ";interleaved=\(pair.rtp)-\(pair.rtcp)" }
    if let pair = self.clientPorts { text += ";client_port=\(pair.rtp)-\(pair.rtcp)" }
    if let pair = self.serverPorts { text += ";server_port=\(pair.rtp)-\(pair.rtcp)" }
    if let ssrc = self.ssrc {
      text += ";ssrc=" + Hexadecimal.encode((0..<4).map { UInt8(truncatingIfNeeded: ssrc >> (24 - 8 * $0)) })
    }
    if let mode = self.mode { text += ";mode=\"\(mode.rawValue)\"" }
    return text
  }

  private static let malformed = ParsingError(.invalid, field: RTSPField.transport)

  private mutating func read(parameter: String) throws(ParsingError) {
    let name: String
    var value = ""
    if let equals = parameter.utf8.firstIndex(of: UInt8(ascii: "=")) {
      name = parameter[..<equals].trimmingSpace()
      value = parameter[parameter.utf8.index(after: equals)...].trimmingSpace().unquoted()
    } else {
      name = parameter
    }
    if name.equalsIgnoringCase("unicast") {
      self.isMulticast = false
    } else if name.equalsIgnoringCase("multicast") {
      self.isMulticast = true
    } else if name.equalsIgnoringCase("interleaved") {
      self.interleaved = try Self.pair(value)
    } else if name.equalsIgnoringCase("client_port") {
      self.clientPorts = try Self.ports(value)
    } else if name.equalsIgnoringCase("server_port") {
      self.serverPorts = try Self.ports(value)
    } else if name.equalsIgnoringCase("ssrc") {
      // Informational only: some clients send more than eight digits.
      self.ssrc = value.utf8.allSatisfy { $0.hexadecimalValue != nil } ? UInt32(value, radix: 16) : nil
    } else if name.equalsIgnoringCase("mode") {
      self.mode = value.equalsIgnoringCase("PLAY") ? .play : .record
    }
  }

  /// Parses `rtp` or `rtp-rtcp`; the default for RTCP is the number after RTP's.
  private static func pair<Number>(_ text: String) throws(ParsingError) -> Pair<Number> {
    let parts = text.splitOutsideQuotes(UInt8(ascii: "-"))
    guard parts.count <= 2, let first = parts[0].decimal(as: Number.self) else { throw self.malformed }
    guard parts.count == 2 else {
      guard first < .max else { throw self.malformed }
      return Pair(rtp: first, rtcp: first + 1)
    }
    guard let second = parts[1].decimal(as: Number.self) else { throw self.malformed }
    return Pair(rtp: first, rtcp: second)
  }

  private static func ports(_ text: String) throws(ParsingError) -> Pair<UInt16> {
    let pair: Pair<UInt16> = try Self.pair(text)
    guard pair.rtp > 0, pair.rtcp > 0 else { throw self.malformed }
    return pair
  }
}
