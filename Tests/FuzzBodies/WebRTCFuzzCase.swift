internal import DTLS
internal import Media
internal import NIOCore
internal import RTP
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

  private static let security = OpenSSLSecurity()

  /// An SRTP or SRTCP packet, or a fingerprint; the first byte selects. What opens is not opened twice, and is sealed to the
  /// same bytes.
  func checkSRTP() {
    var datagram = self.input
    guard let selector = datagram.readInteger(as: UInt8.self) else { return }
    if selector & 4 != 0 {
      guard let fingerprint = try? CertificateFingerprint(parsing: String(buffer: datagram)) else { return }
      precondition((try? CertificateFingerprint(parsing: fingerprint.description)) == fingerprint)
      return
    }
    let profile: SRTPProfile = selector & 1 == 0 ? .aeadAES128GCM : .aes128CMSHA1
    // The keys of RFC 7714 §16, so that its packets are seeds.
    let keys = SRTPSessionKeys(
      cipherKey: Array(0...15), authenticationKey: Array(0...19),
      salt: Array("Quid pro quo..".utf8.prefix(profile.saltLength)))
    guard let security = Self.security,
      var opener = SRTPOpener(keys: keys, controlKeys: keys, profile: profile, security: security),
      var sealer = SRTPSealer(keys: keys, controlKeys: keys, profile: profile, security: security)
    else { preconditionFailure("there is memory") }
    if selector & 2 != 0 {
      guard let packet = try? opener.open(rtcp: datagram) else { return }
      precondition(packet.readableBytes == datagram.readableBytes - profile.tagLength - 4)
      precondition((try? opener.open(rtcp: datagram)) == nil, "a packet is opened twice")
    } else {
      guard let packet = try? opener.open(rtp: datagram) else { return }
      precondition((try? opener.open(rtp: datagram)) == nil, "a packet is opened twice")
      precondition((try? sealer.seal(rtp: packet)) == datagram, "a packet is sealed to other bytes")
    }
  }

  /// An offer with its answer, and a fragment of trickle ICE: an answer has the offer's tracks, and is itself a description.
  func checkOffer() {
    if let fragment = try? TrickleFragment(parsing: self.input) {
      precondition(fragment.candidates.count <= TrickleFragment.maximumCandidateCount)
      for candidate in fragment.candidates where candidate.address != nil {
        precondition((try? ICECandidate(parsing: candidate.description)) == candidate)
      }
    }
    guard let offer = try? WebRTCOffer(parsing: self.input) else { return }
    var state: UInt64 = 1
    let credentials = ICECredentials {
      state = state &* 6_364_136_223_846_793_005 &+ 1
      return state
    }
    let fingerprint = CertificateFingerprint(algorithm: .sha256, digest: [UInt8](repeating: 1, count: 32))
    guard let address = TransportAddress("192.0.2.1", port: 8189), let video = try? H264ProfileLevel(parsing: "42c01f")
    else { preconditionFailure("valid") }
    let configuration = WebRTCAnswer.Configuration(
      sessionID: 1, credentials: credentials, fingerprint: fingerprint, candidates: [address], video: video,
      hasAudio: true, ssrcs: (1, 2, 3))
    guard let answer = try? WebRTCAnswer(offer, configuration) else { return }
    precondition(answer.description.media.map(\.media) == offer.media.map(\.kind), "each track is answered")
    var text = ByteBuffer()
    answer.description.serialize(into: &text)
    guard let parsed = try? WebRTCOffer(parsing: text) else { preconditionFailure("an answer is a description") }
    precondition(parsed.media.map(\.mid) == offer.media.map(\.mid), "tracks keep their identification")
    for track in [answer.video, answer.audio] {
      guard let track, let media = offer.media.first(where: { $0.mid == track.mid }) else { continue }
      precondition(media.formats.contains { $0.payloadType == track.payloadType } || offer.bundledMids == nil)
    }
  }
}
