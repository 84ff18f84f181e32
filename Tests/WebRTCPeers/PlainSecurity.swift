package import Media
internal import Synchronization
package import WebRTC

/// Security without cryptography, so that dialogues over virtual time are cheap: any DTLS record ends the handshake, and the
/// tag of a packet is its nonce: a packet that is opened by another number is refused.
package struct PlainSecurity: DatagramSecurity {
  /// Digest of the client's certificate.
  package var clientDigest: [UInt8]
  private let endpoints = Endpoints()

  private final class Endpoints: Sendable {
    let count = Atomic(0)
  }

  /// Number of endpoints that were made.
  package var endpointCount: Int { self.endpoints.count.load(ordering: .relaxed) }

  /// Security whose client has a certificate.
  package init(clientDigest: [UInt8] = []) {
    self.clientDigest = clientDigest
  }

  /// SHA-256 of the server's certificate.
  package var fingerprint: [UInt8] { [UInt8](repeating: 0xAB, count: 32) }

  /// Makes an endpoint that any record connects, and an alert closes.
  package func makeEndpoint(role: DTLSRole, timeout: MediaDuration) -> (any DTLSEndpoint)? {
    self.endpoints.count.add(1, ordering: .relaxed)
    return PlainEndpoint(clientDigest: self.clientDigest)
  }

  /// Makes a cipher that changes nothing.
  package func makeCipher(profile: SRTPProfile, keys: SRTPSessionKeys, seals: Bool) -> (any SRTPCipher)? {
    PlainCipher()
  }
}

private final class PlainEndpoint: DTLSEndpoint {
  private var state = DTLSState.handshaking
  private let clientDigest: [UInt8]

  init(clientDigest: [UInt8]) { self.clientDigest = clientDigest }

  func receive(_ datagram: UnsafeRawBufferPointer) -> (state: DTLSState, datagrams: [[UInt8]]) {
    self.state = datagram.first == 21 ? .closed : .connected
    return (self.state, [[22, 1]])
  }

  var timeUntilTimeout: MediaDuration? { nil }
  func handleTimeout() -> (state: DTLSState, datagrams: [[UInt8]]) { (self.state, []) }
  func close() -> [[UInt8]] { [[21]] }
  var profile: SRTPProfile? { .aeadAES128GCM }
  func exportKeys(length: Int) -> [UInt8]? { [UInt8](repeating: 7, count: length) }
  func peerFingerprint(_ algorithm: FingerprintAlgorithm) -> [UInt8]? {
    algorithm == .sha256 ? self.clientDigest : nil
  }
}

private final class PlainCipher: SRTPCipher {
  func seal(
    _ plaintext: UnsafeRawBufferPointer, nonce: SIMD16<UInt8>, header: UnsafeRawBufferPointer, trailer: UInt32?,
    into ciphertext: UnsafeMutableRawBufferPointer, tag: UnsafeMutableRawBufferPointer
  ) -> Bool {
    if plaintext.baseAddress != UnsafeRawPointer(ciphertext.baseAddress) { ciphertext.copyMemory(from: plaintext) }
    for index in tag.indices { tag[index] = nonce[index] ^ 0x5A }
    return true
  }

  func open(
    _ ciphertext: UnsafeRawBufferPointer, nonce: SIMD16<UInt8>, header: UnsafeRawBufferPointer, trailer: UInt32?,
    into plaintext: UnsafeMutableRawBufferPointer, tag: UnsafeRawBufferPointer
  ) -> Bool {
    guard tag.indices.allSatisfy({ tag[$0] == nonce[$0] ^ 0x5A }) else { return false }
    plaintext.copyMemory(from: ciphertext)
    return true
  }
}
