package import Media
package import NIOCore
package import RTP

/// A session description that a WebRTC client offers, with what an answer depends on, RFC 8829 (JSEP). The answer of a server to a
/// push is read in the same way.
///
/// Everything is read in one pass over the lines, and bounded: ``RTP/SessionDescription`` limits text and tracks, payload types
/// are 7 bits.
package struct WebRTCOffer: Hashable, Sendable {
  /// The tracks, in their order.
  package var media: [WebRTCOfferMedia]
  /// Mids of the first `a=group:BUNDLE`, RFC 8843; nil without one.
  package var bundledMids: [String]?

  /// Parses an offer.
  ///
  /// - Throws: `ParsingError` as of ``RTP/SessionDescription``; `.invalid` for a mid that is no token or used twice, `.missing`
  ///   without a track.
  package init(parsing text: ByteBuffer) throws(ParsingError) {
    let session = try SessionDescription(parsing: text)
    guard !session.media.isEmpty else { throw ParsingError(.missing, field: "m=") }
    var shared = WebRTCOfferMedia.Transport()
    for attribute in session.attributes { shared.handle(attribute) }
    let group = session.attributes.first { $0.name == "group" && $0.value?.hasPrefix("BUNDLE") == true }
    self.bundledMids = group?.value.map { $0.split(separator: " ").dropFirst().map(String.init) }
    self.media = []
    var mids: Set<String> = []
    for description in session.media {
      let media = try WebRTCOfferMedia(description, session: session.attributes, shared: shared)
      if let mid = media.mid, !mids.insert(mid).inserted { throw ParsingError(.invalid, field: "mid") }
      self.media.append(media)
    }
    self.completeBundle()
  }

  /// Gives lines with `a=bundle-only` what they leave to the first line of the bundle, whose transport is theirs, RFC 8829 §5.2.1 and RFC 9143
  /// §7.2: also where an answer rejects that line.
  private mutating func completeBundle() {
    guard let mids = self.bundledMids, let tag = mids.first, let first = self.media.first(where: { $0.mid == tag })
    else { return }
    let bundled = Set(mids)
    for index in self.media.indices {
      guard self.media[index].isBundleOnly, let mid = self.media[index].mid, bundled.contains(mid) else { continue }
      self.media[index].transport = self.media[index].transport.merged(with: first.transport)
      if first.hasRTCPMux { self.media[index].hasRTCPMux = true }
      if first.hasReducedSizeRTCP { self.media[index].hasReducedSizeRTCP = true }
    }
  }
}

/// A track of an offer: its `m=` line with what its attributes mean.
package struct WebRTCOfferMedia: Hashable, Sendable {
  /// RTCP feedback of a format, RFC 4585 §4.2.
  package struct Feedback: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Retransmission requests, RFC 4585 §6.2.1.
    package static let nack = Self(rawValue: 1 << 0)
    /// Picture loss indications, RFC 4585 §6.3.1.
    package static let nackPLI = Self(rawValue: 1 << 1)
    /// Full intra requests, RFC 5104 §4.3.1.
    package static let ccmFIR = Self(rawValue: 1 << 2)
    /// Arrival times of each packet, draft-holmer-rmcat-transport-wide-cc-extensions-01.
    package static let transportCC = Self(rawValue: 1 << 3)
    /// Receiver's estimate of the bitrate, draft-alvestrand-rmcat-remb-03.
    package static let googREMB = Self(rawValue: 1 << 4)

    /// Each kind of feedback by its value of `a=rtcp-fb`, RFC 4585 §4.2.
    package static let names: KeyValuePairs<String, Feedback> = [
      "nack": .nack, "nack pli": .nackPLI, "ccm fir": .ccmFIR, "transport-cc": .transportCC, "goog-remb": .googREMB,
    ]
  }

  /// A payload type with its encoding.
  package struct Format: Hashable, Sendable {
    /// Payload type in the client's packets, 0 to 127.
    package var payloadType: UInt8
    /// Encoding, clock rate and channels.
    package var map: RTPMap
    /// Parameters of the encoding, `a=fmtp`; empty without the line.
    package var parameters = SDPFormatParameters([])
    /// Feedback that the client offers for this payload type, `a=rtcp-fb`.
    package var feedback: Feedback = []
  }

  /// A header extension of `a=extmap`, RFC 8285 §5.
  package struct Extension: Hashable, Sendable {
    /// The identifier, 1 to 14: one-byte headers.
    package var id: UInt8
    /// URI that identifies the extension.
    package var uri: String
    /// Direction, when the offer restricts it.
    package var direction: SDPDirection?
  }

  /// ICE and DTLS of a track or of the session.
  package struct Transport: Hashable, Sendable {
    /// `a=ice-ufrag`.
    var usernameFragment: String?
    /// `a=ice-pwd`.
    var password: String?
    /// Certificates that the client may present, by known algorithms.
    package var fingerprints: [CertificateFingerprint] = []
    /// `a=setup`: which side starts DTLS.
    package var setup: String?

    /// Our role in DTLS: the server's, unless the client wants to be that, as FFmpeg's WHIP does; nil where it wants no
    /// connection yet.
    package var role: DTLSRole? {
      switch self.setup {
      case "holdconn": nil
      case "passive": .client
      default: .server
      }
    }

    /// Maximum number of fingerprints.
    static let maximumFingerprintCount = 8

    /// The client's ICE credentials; nil when they are missing or malformed.
    package var credentials: ICECredentials? {
      guard let usernameFragment = self.usernameFragment, let password = self.password else { return nil }
      return ICECredentials(usernameFragment: usernameFragment, password: password)
    }

    mutating func handle(_ attribute: SDPAttribute) {
      guard let value = attribute.value else { return }
      switch attribute.name {
      case "ice-ufrag": self.usernameFragment = value
      case "ice-pwd": self.password = value
      case "setup": self.setup = value
      case "fingerprint":
        guard self.fingerprints.count < Self.maximumFingerprintCount,
          let fingerprint = try? CertificateFingerprint(parsing: value)
        else { return }
        self.fingerprints.append(fingerprint)
      default: break
      }
    }

    /// The transport with what it lacks from the session's.
    func merged(with session: Transport) -> Transport {
      var merged = self
      merged.usernameFragment = self.usernameFragment ?? session.usernameFragment
      merged.password = self.password ?? session.password
      merged.setup = self.setup ?? session.setup
      if merged.fingerprints.isEmpty { merged.fingerprints = session.fingerprints }
      return merged
    }
  }

  /// The kind: "video", "audio", "application" or another token.
  package var kind: String
  /// The transport protocol, such as "UDP/TLS/RTP/SAVPF".
  package var transportProtocol: String
  /// The first format as it was written, for the answer to a track that is rejected.
  package var firstFormat: String
  /// Formats with an encoding, in the client's order of preference.
  package var formats: [Format] = []
  /// Identifier of the track, `a=mid`; nil without one.
  package var mid: String?
  /// Whether the client itself does not want the track: port 0, and not `a=bundle-only`.
  package var isRejected: Bool
  /// Whether the client wants the track in the bundle or not at all, `a=bundle-only`.
  let isBundleOnly: Bool
  /// Direction as the client sees it.
  package var direction: SDPDirection
  /// Whether RTP and RTCP share a port, `a=rtcp-mux`.
  package var hasRTCPMux = false
  /// Whether RTCP packets need not begin with a report, `a=rtcp-rsize`, RFC 5506.
  package var hasReducedSizeRTCP = false
  /// Whether the client measures its round trip, as a receiver, by reports of its time: `a=rtcp-xr:rcvr-rtt=all`, RFC 3611 §5.1.
  package var hasReceiverRoundTrip = false
  /// Header extensions with identifiers of one-byte headers.
  package var extensions: [Extension] = []
  /// ICE credentials, DTLS role and fingerprints of the track, completed by those of the session.
  package var transport = Transport()
  /// Addresses of the author, at most ``maximumCandidateCount``; those that cannot be parsed are left out.
  package var candidates: [ICECandidate] = []

  /// Maximum number of candidates.
  static let maximumCandidateCount = 64
  /// Maximum length of words that an answer repeats, in bytes.
  private static let maximumTokenLength = 64

  init(_ description: MediaDescription, session: [SDPAttribute], shared: Transport) throws(ParsingError) {
    guard Self.isToken(description.media), description.transport.utf8.count <= Self.maximumTokenLength,
      let first = description.formats.first, first.utf8.count <= Self.maximumTokenLength
    else { throw ParsingError(.invalid, field: "m=") }
    self.kind = description.media
    self.transportProtocol = description.transport
    self.firstFormat = first
    self.isBundleOnly = description.attributes.contains { $0.name == "bundle-only" }
    self.isRejected = description.port == 0 && !self.isBundleOnly
    self.direction = description.attributes.direction ?? session.direction ?? .sendReceive
    var indexes = [Int?](repeating: nil, count: 128)
    for text in description.formats {
      guard let payloadType = UInt8(text), payloadType < 128, indexes[Int(payloadType)] == nil else { continue }
      indexes[Int(payloadType)] = self.formats.count
      self.formats.append(Format(payloadType: payloadType, map: RTPMap(encoding: "", clockRate: 1)))
    }
    for attribute in session where attribute.name == "extmap" { self.appendExtension(attribute.value ?? "") }
    for attribute in description.attributes { try self.handle(attribute, indexes) }
    // Payload types without an encoding are of no use here: static ones are not H.264 or Opus.
    self.formats.removeAll { $0.map.encoding.isEmpty }
    self.transport = self.transport.merged(with: shared)
  }

  /// The identifier of an extension; nil when the client does not offer it, or does not want to receive it.
  package func extensionID(_ uri: String) -> UInt8? {
    self.extensions.first { $0.uri == uri && $0.direction != .sendOnly && $0.direction != .inactive }?.id
  }

  private mutating func handle(_ attribute: SDPAttribute, _ indexes: [Int?]) throws(ParsingError) {
    switch attribute.name {
    case "mid":
      guard let mid = attribute.value, Self.isToken(mid) else { throw ParsingError(.invalid, field: "mid") }
      self.mid = mid
    case "rtcp-mux": self.hasRTCPMux = true
    case "rtcp-rsize": self.hasReducedSizeRTCP = true
    case "rtcp-xr":
      let formats = (attribute.value ?? "").split(separator: " ")
      if formats.contains(where: { $0 == "rcvr-rtt=all" || $0.hasPrefix("rcvr-rtt=all:") }) {
        self.hasReceiverRoundTrip = true
      }
    case "extmap": self.appendExtension(attribute.value ?? "")
    case "candidate":
      guard self.candidates.count < Self.maximumCandidateCount, let value = attribute.value,
        let candidate = try? ICECandidate(parsing: value)
      else { return }
      self.candidates.append(candidate)
    case "rtpmap", "fmtp", "rtcp-fb": self.handleFormat(attribute.name, attribute.value ?? "", indexes)
    default: self.transport.handle(attribute)
    }
  }

  /// Attributes whose value begins with a payload type, or with `*` for all.
  private mutating func handleFormat(_ name: String, _ value: String, _ indexes: [Int?]) {
    let parts = value.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: true)
    guard parts.count == 2 else { return }
    let text = String(parts[1])
    if name == "rtcp-fb", parts[0] == "*" {
      guard let feedback = Self.feedback(text) else { return }
      for index in self.formats.indices { self.formats[index].feedback.insert(feedback) }
      return
    }
    guard let payloadType = UInt8(parts[0]), payloadType < 128, let index = indexes[Int(payloadType)] else { return }
    switch name {
    case "rtpmap": if let map = RTPMap(parsing: text) { self.formats[index].map = map }
    // Some clients write a line for each parameter. The first value of a name counts.
    case "fmtp": self.formats[index].parameters.parameters += SDPFormatParameters(parsing: text).parameters
    default: if let feedback = Self.feedback(text) { self.formats[index].feedback.insert(feedback) }
    }
  }

  private static func feedback(_ text: String) -> Feedback? {
    Feedback.names.first { $0.key == text }?.value
  }

  /// `id[/direction] URI [attributes]`; the first of an identifier counts.
  private mutating func appendExtension(_ value: String) {
    let words = value.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: true)
    guard words.count >= 2 else { return }
    let parts = words[0].split(separator: "/", maxSplits: 1)
    guard let id = parts.first.flatMap({ UInt8($0) }), (1...14).contains(id),
      !self.extensions.contains(where: { $0.id == id })
    else { return }
    let direction = parts.count > 1 ? SDPDirection(rawValue: String(parts[1])) : nil
    self.extensions.append(Extension(id: id, uri: String(words[1]), direction: direction))
  }

  /// Whether a text is a token of RFC 8866 §9, and short.
  private static func isToken(_ text: String) -> Bool {
    (1...Self.maximumTokenLength).contains(text.utf8.count)
      && text.utf8.allSatisfy { (0x21...0x7E).contains($0) && !"\"(),/:;<=>?@[\\]".utf8.contains($0) }
  }
}
