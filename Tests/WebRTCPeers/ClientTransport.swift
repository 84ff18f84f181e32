internal import NIOCore
internal import WebRTC

/// The transport of a viewer or publisher, without cryptography: its checks, and the keys of its packets.
struct ClientTransport {
  let address: TransportAddress
  var sealer: SRTPSealer
  var opener: SRTPOpener
  private let key: STUNKey
  /// Of the client's password, which checks of the server have.
  private let clientKey: STUNKey
  private let username: String
  private var transaction: UInt64 = 0

  /// - Parameters:
  ///   - usernameFragment: The server's, as its password.
  ///   - clientPassword: Password of the offer.
  init(_ address: TransportAddress, usernameFragment: String, password: String, clientPassword: String) {
    self.address = address
    self.key = STUNKey(password: password)
    self.clientKey = STUNKey(password: clientPassword)
    self.username = "\(usernameFragment):clnt"
    let keys = SRTPMasterKey.pair(
      exported: [UInt8](repeating: 7, count: SRTPProfile.aeadAES128GCM.exportedLength), profile: .aeadAES128GCM)!
    self.sealer = SRTPSealer(master: keys.client, profile: .aeadAES128GCM, security: PlainSecurity())!
    self.opener = SRTPOpener(master: keys.server, profile: .aeadAES128GCM, security: PlainSecurity())!
  }

  /// The response to a check of the server; nil for other messages, and for one that has not the client's password.
  func response(to message: STUNMessage) -> ByteBuffer? {
    guard message.messageClass == .request, message.isAuthentic(with: self.clientKey) else { return nil }
    var buffer = ByteBuffer()
    STUNMessage(.success, transactionID: message.transactionID, attributes: [.xorMappedAddress(self.address)])
      .serialize(into: &buffer, key: self.clientKey)
    return buffer
  }

  /// A check of the address, with the next transaction ID.
  mutating func check(nominates: Bool) -> ByteBuffer {
    self.transaction += 1
    var buffer = ByteBuffer()
    STUNMessage(
      .request, transactionID: .init(UInt32(self.address.port), self.transaction),
      attributes: [.username(self.username), .iceControlling(1), .priority(1)] + (nominates ? [.useCandidate] : [])
    ).serialize(into: &buffer, key: self.key)
    return buffer
  }
}
