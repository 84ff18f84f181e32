internal import Authentication
internal import Media
internal import NIOCore
internal import RTP
internal import WebRTC
internal import WebRTCServer

/// Invariants of WebRTC's parsers for any bytes.
struct WebRTCFuzzCase {
  private let input: ByteBuffer

  init(_ input: ByteBuffer) {
    self.input = input
  }

  /// A byte stream of ICE over TCP: datagrams are the same however the stream is cut, are bounded, and are written as they came.
  func checkFrames() {
    func datagrams(cut: Int) -> [ByteBuffer]? {
      var frames = FramedDatagrams()
      var datagrams: [ByteBuffer] = []
      var rest = self.input
      while let part = rest.readSlice(length: min(cut, rest.readableBytes)), part.readableBytes > 0 {
        frames.append(part)
        do {
          while let datagram = try frames.next() { datagrams.append(datagram) }
        } catch {
          return nil
        }
      }
      return datagrams
    }
    let whole = datagrams(cut: .max)
    for cut in [1, 7] { precondition(datagrams(cut: cut) == whole, "the stream is the same, however it is cut") }
    guard let whole else { return }
    var written = ByteBuffer()
    for datagram in whole {
      precondition((1...FramedDatagrams.maximumLength).contains(datagram.readableBytes), "a datagram is bounded")
      FramedDatagrams.write(datagram, to: &written)
    }
    precondition(written.readableBytes <= self.input.readableBytes)
    var frames = FramedDatagrams()
    frames.append(written)
    for datagram in whole { precondition((try? frames.next()) == datagram, "what is written is read") }
  }

  /// A STUN message: what is written parses the same, and only the right key is accepted.
  func checkSTUN() {
    let kind = DatagramKind(self.input)
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

  /// The URL of a WHIP server, and a location that is relative to one: what is written parses the same, encryption is never left, and
  /// no line of HTTP ends in it.
  private static func checkURL(_ text: String) {
    func check(_ url: WHIPURL) {
      precondition((try? WHIPURL(parsing: url.address + url.target.text)) == url, "what is written parses")
      precondition(url.target.text.utf8.allSatisfy { (0x21...0x7E).contains($0) }, "a line ends")
    }
    if let url = try? WHIPURL(parsing: text) { check(url) }
    guard let base = try? WHIPURL(parsing: "whip+https://example.org/live/whip?key=1") else {
      preconditionFailure("valid")
    }
    guard let url = base.resolved(text) else { return }
    precondition(url.isEncrypted, "encryption is left")
    check(url)
  }

  /// An offer with its answer, the answer to a push, a fragment of trickle ICE, and a URL: an answer has the offer's tracks, and is itself
  /// a description.
  func checkOffer() {
    Self.checkURL(String(buffer: self.input))
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
    Self.checkPublishAnswer(offer, credentials, fingerprint, address)
    let push = WebRTCPushOffer(
      WebRTCPushOffer.Configuration(
        sessionID: 1, credentials: credentials, fingerprint: fingerprint, candidates: [address], video: video,
        hasAudio: true, ssrcs: (1, 2, 3)))
    if let answer = try? push.accept(offer) {
      precondition(answer.video?.payloadType == 96 && !answer.fingerprints.isEmpty)
    }
    for mode in H264PacketizationMode.allCases {
      var configuration = WebRTCAnswer.Configuration(
        sessionID: 1, credentials: credentials, fingerprint: fingerprint, candidates: [address], video: video,
        hasAudio: true, ssrcs: (1, 2, 3))
      configuration.packetizationMode = mode
      Self.checkAnswer(offer, configuration)
    }
  }

  /// The answer to a viewer has the offer's tracks, is a description, and video that the client decodes in the mode of the stream.
  private static func checkAnswer(_ offer: WebRTCOffer, _ configuration: WebRTCAnswer.Configuration) {
    guard let answer = try? WebRTCAnswer(offer, configuration) else { return }
    if let video = configuration.video, let decoder = answer.video?.decoder {
      precondition(decoder.decodes(video, configuration.packetizationMode), "the client decodes the stream")
    }
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

  /// The answer to a publisher has the offer's tracks, is a description, and receives payload types of the offer that differ.
  private static func checkPublishAnswer(
    _ offer: WebRTCOffer, _ credentials: ICECredentials, _ fingerprint: CertificateFingerprint,
    _ address: TransportAddress
  ) {
    let configuration = WebRTCPublishAnswer.Configuration(
      sessionID: 1, credentials: credentials, fingerprint: fingerprint, candidates: [address])
    guard let answer = try? WebRTCPublishAnswer(offer, configuration) else { return }
    precondition(answer.description.media.map(\.media) == offer.media.map(\.kind), "each track is answered")
    var text = ByteBuffer()
    answer.description.serialize(into: &text)
    guard let parsed = try? WebRTCOffer(parsing: text) else { preconditionFailure("an answer is a description") }
    precondition(parsed.media.map(\.mid) == offer.media.map(\.mid), "tracks keep their identification")
    let tracks = [answer.video, answer.audio].compactMap(\.self)
    let payloadTypes = tracks.flatMap { [$0.payloadType, $0.retransmissionPayloadType].compactMap(\.self) }
    precondition(!tracks.isEmpty && Set(payloadTypes).count == payloadTypes.count, "packets are of one track")
  }
}
