internal import Media
internal import NIOCore
internal import WebRTC

/// Invariants of WebRTC's parsers for any bytes.
struct WebRTCFuzzCase {
  private let input: ByteBuffer

  init(_ input: ByteBuffer) {
    self.input = input
  }

  /// A STUN message: what is written parses the same, and only the right key is accepted.
  func checkSTUN() {
    let kind = DatagramKind(self.input.readableBytesView)
    guard let message = try? STUNMessage(parsing: self.input) else { return }
    precondition(kind == .stun, "a message looks like STUN")
    precondition(message.attributes.count <= STUNMessage.maximumAttributeCount)
    precondition(!message.isAuthentic(with: STUNKey(password: "guess")), "a code is guessed")
    let key = STUNKey(password: "password")
    for algorithm in STUNMessage.IntegrityAlgorithm.allCases {
      var written = ByteBuffer()
      message.serialize(into: &written, key: key, algorithm: algorithm)
      // Integrity and fingerprint are two attributes more than may be read.
      guard message.attributes.count <= STUNMessage.maximumAttributeCount - 2 else { return }
      guard let again = try? STUNMessage(parsing: written) else { preconditionFailure("what is written parses") }
      precondition(again.attributes == message.attributes && again.transactionID == message.transactionID)
      precondition(again.messageClass == message.messageClass && again.method == message.method)
      precondition(again.hasFingerprint && again.isAuthentic(with: key), "what is written is protected")
    }
  }
}
