internal import CDTLS
internal import Media
internal import WebRTC

/// One side of a DTLS association. Used by one thread at a time.
final class OpenSSLEndpoint: DTLSEndpoint {
  private let dtls: OpaquePointer

  /// Adopts the association, and destroys it at the end.
  init(_ dtls: OpaquePointer) {
    self.dtls = dtls
  }

  deinit {
    vidicon_dtls_destroy(self.dtls)
  }

  func receive(_ datagram: UnsafeRawBufferPointer) -> (state: DTLSState, datagrams: [[UInt8]]) {
    let state = vidicon_dtls_receive(
      self.dtls, datagram.baseAddress?.assumingMemoryBound(to: UInt8.self), datagram.count)
    return (Self.state(state), self.datagrams())
  }

  var timeUntilTimeout: MediaDuration? {
    let microseconds = vidicon_dtls_timeout(self.dtls)
    return microseconds < 0 ? nil : .microseconds(microseconds)
  }

  func handleTimeout() -> (state: DTLSState, datagrams: [[UInt8]]) {
    let state = vidicon_dtls_handle_timeout(self.dtls)
    return (Self.state(state), self.datagrams())
  }

  func close() -> [[UInt8]] {
    vidicon_dtls_close(self.dtls)
    return self.datagrams()
  }

  var profile: SRTPProfile? {
    SRTPProfile(rawValue: vidicon_dtls_srtp_profile(self.dtls))
  }

  func exportKeys(length: Int) -> [UInt8]? {
    var keys = [UInt8](repeating: 0, count: length)
    return vidicon_dtls_export_srtp_keys(self.dtls, &keys, length) ? keys : nil
  }

  func peerFingerprint(_ algorithm: FingerprintAlgorithm) -> [UInt8]? {
    var digest = [UInt8](repeating: 0, count: algorithm.length)
    let length = vidicon_dtls_peer_fingerprint(self.dtls, Int32(algorithm.length * 8), &digest)
    return length == algorithm.length ? digest : nil
  }

  private static func state(_ state: vidicon_dtls_state) -> DTLSState {
    switch state {
    case VIDICON_DTLS_HANDSHAKING: .handshaking
    case VIDICON_DTLS_CONNECTED: .connected
    case VIDICON_DTLS_CLOSED: .closed
    default: .failed
    }
  }

  private func datagrams() -> [[UInt8]] {
    var datagrams: [[UInt8]] = []
    while true {
      let datagram = [UInt8](unsafeUninitializedCapacity: Int(VIDICON_DTLS_MTU)) { buffer, count in
        count = buffer.baseAddress.map { vidicon_dtls_next_datagram(self.dtls, $0) } ?? 0
      }
      if datagram.isEmpty { return datagrams }
      datagrams.append(datagram)
    }
  }
}
