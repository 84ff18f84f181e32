package import RTP

/// The answer of a server that receives one video and one audio track of a publisher, and sends nothing, RFC 9725 §4.2.
///
/// | offered | answered |
/// |---------|----------|
/// | video with H.264, else with VP8; audio with Opus | `recvonly`, payload types and extension identifiers of the offer |
/// | a track that the publisher does not send | `inactive` |
/// | simulcast | `recvonly` without `a=simulcast`: the publisher sends one encoding, RFC 8829 §5.3.1 |
/// | a track of other codecs, a second one of a kind, `m=application`, a track outside the bundle or without rtcp-mux | port 0 |
///
/// `urn:3gpp:video-orientation` is never answered, so that publishers send upright frames.
package struct WebRTCPublishAnswer: Hashable, Sendable {
  /// Credentials and addresses of the server.
  package struct Configuration: Sendable {
    /// Identifies the session in `o=`.
    package var sessionID: UInt64
    /// ICE credentials of the server, `a=ice-ufrag` and `a=ice-pwd`.
    package var credentials: ICECredentials
    /// SHA-256 of the server's certificate.
    package var fingerprint: CertificateFingerprint
    /// Addresses of the server, the best one first; at least one. Duplicates are left out.
    package var candidates: [TransportAddress]
    /// Maximum bitrate of video in bits per second, `b=TIAS`; nil without a limit.
    package var maximumVideoBitrate: Int?

    /// Creates a configuration; there is at least one candidate, and by default no limit of the bitrate.
    package init(
      sessionID: UInt64, credentials: ICECredentials, fingerprint: CertificateFingerprint,
      candidates: [TransportAddress], maximumVideoBitrate: Int? = nil
    ) {
      precondition(!candidates.isEmpty, "the server has an address")
      self.sessionID = sessionID
      self.credentials = credentials
      self.fingerprint = fingerprint
      self.candidates = candidates
      self.maximumVideoBitrate = maximumVideoBitrate
    }
  }

  /// A codec that can be received.
  package enum Codec: String, Hashable, Sendable, CaseIterable {
    /// RFC 6184, in packetization mode 0 or 1.
    case h264
    /// RFC 7741.
    case vp8
    /// RFC 7587.
    case opus

    /// Ticks per second of its timestamps.
    package var clockRate: Int32 {
      switch self {
      case .h264: H264Packetizer.clockRate
      case .vp8: VP8Depacketizer.clockRate
      case .opus: 48_000
      }
    }
  }

  /// A track that is received.
  package struct Track: Hashable, Sendable {
    /// The track's mid; nil when the publisher has none.
    package var mid: String?
    /// Codec of the track that is received.
    package var codec: Codec
    /// Payload type that the publisher offered for the codec, 0 to 127.
    package var payloadType: UInt8
    /// The publisher's payload type of retransmissions, RFC 4588; nil without them.
    package var retransmissionPayloadType: UInt8?
    /// Feedback that was agreed on.
    package var feedback: WebRTCOfferMedia.Feedback
    /// Agreed header extensions, by their URI.
    package var extensionIDs: [String: UInt8]

    /// Whether packets of a payload type are of the track, or retransmissions of them.
    func receives(_ payloadType: UInt8) -> Bool {
      payloadType == self.payloadType || payloadType == self.retransmissionPayloadType
    }
  }

  /// Session description of the answer, as it is sent.
  package private(set) var description: SessionDescription
  /// The video track; nil when none is received.
  package private(set) var video: Track?
  /// The audio track; nil when none is received.
  package private(set) var audio: Track?
  /// ICE and DTLS of the publisher.
  package private(set) var clientTransport: WebRTCOfferMedia.Transport
  /// Our role in DTLS.
  package let role: DTLSRole

  /// Answers an offer.
  ///
  /// - Throws: `.nothingFits` when no track with a known codec is sent.
  package init(_ offer: WebRTCOffer, _ configuration: Configuration) throws(WebRTCAnswer.Refusal) {
    let accepted = Self.acceptedIndexes(offer)
    guard let first = accepted.first else { throw .nothingFits }
    let transport = offer.media[first].transport
    guard transport.credentials != nil, !transport.fingerprints.isEmpty else { throw .noTransport }
    guard let role = transport.role else { throw .holdsConnection }
    self.clientTransport = transport
    self.role = role
    self.description = SessionDescription(name: "-", sessionID: configuration.sessionID, address: "0.0.0.0")
    self.description.connection = nil
    for (index, media) in offer.media.enumerated() {
      guard accepted.contains(index), let track = Self.track(media) else {
        self.description.media.append(WebRTCAnswer.rejected(media))
        continue
      }
      self.append(media, track, configuration, isFirst: index == first)
    }
    guard self.video != nil || self.audio != nil else { throw .nothingFits }
    self.description.attributes = [
      SDPAttribute("ice-lite"), WebRTCAnswer.iceOptions, SDPAttribute("msid-semantic", "WMS *"),
    ]
    if offer.bundledMids != nil {
      let mids = accepted.compactMap { offer.media[$0].mid }
      self.description.attributes.insert(SDPAttribute("group", (["BUNDLE"] + mids).joined(separator: " ")), at: 0)
    }
  }

  /// Tracks of an answer with media, in their order; all share a transport, and differ in their payload types.
  private static func acceptedIndexes(_ offer: WebRTCOffer) -> [Int] {
    let bundled = offer.bundledMids.map { Set($0) }
    var kinds: Set<String> = []
    var payloadTypes: Set<UInt8> = []
    var accepted: [Int] = []
    for (index, media) in offer.media.enumerated() {
      let isReachable = if let bundled { media.mid.map(bundled.contains) ?? false } else { true }
      guard isReachable, !media.isRejected, media.hasRTCPMux, WebRTCAnswer.protocols.contains(media.transportProtocol),
        let track = Self.track(media), !kinds.contains(media.kind)
      else { continue }
      // Packets are assigned to tracks by their payload types, RFC 8843 §9.2.
      let own = [track.payloadType, track.retransmissionPayloadType].compactMap(\.self)
      guard bundled == nil || payloadTypes.isDisjoint(with: own) else { continue }
      payloadTypes.formUnion(own)
      kinds.insert(media.kind)
      accepted.append(index)
    }
    return bundled == nil ? WebRTCAnswer.single(accepted, of: offer) : accepted
  }

  /// Appends an accepted track.
  private mutating func append(
    _ media: WebRTCOfferMedia, _ track: Track, _ configuration: Configuration, isFirst: Bool
  ) {
    let isReceived = media.direction == .sendOnly || media.direction == .sendReceive
    let first = configuration.candidates[0]
    var description = MediaDescription(
      media: media.kind, port: first.port, transport: media.transportProtocol,
      formats: [track.payloadType, track.retransmissionPayloadType].compactMap(\.self).map(String.init))
    description.connection = "IN \(first.isIPv6 ? "IP6" : "IP4") \(first.ip)"
    if let bitrate = configuration.maximumVideoBitrate, media.kind == "video" {
      description.bandwidths = ["AS:\(max(1, bitrate / 1000))", "TIAS:\(bitrate)"]
    }
    if let mid = media.mid { description.attributes.append(SDPAttribute("mid", mid)) }
    description.attributes += [
      SDPAttribute("ice-ufrag", configuration.credentials.usernameFragment),
      SDPAttribute("ice-pwd", configuration.credentials.password),
      SDPAttribute("fingerprint", configuration.fingerprint.description), SDPAttribute("setup", self.role.rawValue),
      SDPAttribute(isReceived ? "recvonly" : "inactive"), SDPAttribute("rtcp-mux"),
    ]
    if media.hasReducedSizeRTCP { description.attributes.append(SDPAttribute("rtcp-rsize")) }
    for (uri, id) in track.extensionIDs.sorted(by: { $0.value < $1.value }) {
      let isRestricted = media.extensions.contains { $0.id == id && $0.direction == .sendOnly }
      description.attributes.append(SDPAttribute("extmap", "\(id)\(isRestricted ? "/recvonly" : "") \(uri)"))
    }
    description.attributes += Self.formatAttributes(track, media)
    if isFirst {
      var seen: Set<TransportAddress> = []
      description.attributes += WebRTCAnswer.candidateAttributes(
        configuration.candidates.filter { seen.insert($0).inserted })
    }
    self.description.media.append(description)
    guard isReceived else { return }
    if media.kind == "video" { self.video = track } else { self.audio = track }
  }
}

// MARK: Formats

extension WebRTCPublishAnswer {
  /// Extensions whose values are used.
  private static let extensionURIs = [WebRTCAnswer.ExtensionURI.mid, WebRTCAnswer.ExtensionURI.transportWideCC]
  /// Level of H.264 that is accepted where levels may differ: 4.2, 1080p at 60 frames per second.
  private static let acceptedLevelIDC: UInt8 = 42

  /// The track as it is received; nil without a known codec.
  private static func track(_ media: WebRTCOfferMedia) -> Track? {
    guard let (codec, format) = Self.format(media) else { return nil }
    let retransmission = media.formats.first {
      $0.map.isEncoding("rtx") && $0.parameters["apt"] == "\(format.payloadType)"
    }
    let ids = Self.extensionURIs.compactMap { uri in
      media.extensions.first { $0.uri == uri && $0.direction != .receiveOnly && $0.direction != .inactive }
        .map { (uri, $0.id) }
    }
    return Track(
      mid: media.mid, codec: codec, payloadType: format.payloadType,
      retransmissionPayloadType: format.feedback.contains(.nack) ? retransmission?.payloadType : nil,
      feedback: format.feedback, extensionIDs: Dictionary(uniqueKeysWithValues: ids))
  }

  /// The publisher's first format of the best codec: H.264 in mode 1, then in mode 0, then VP8; Opus.
  private static func format(_ media: WebRTCOfferMedia) -> (Codec, WebRTCOfferMedia.Format)? {
    func first(_ name: String, _ clockRate: Int32, where isSuitable: (WebRTCOfferMedia.Format) -> Bool = { _ in true })
      -> WebRTCOfferMedia.Format?
    {
      media.formats.first { $0.map.isEncoding(name) && $0.map.clockRate == clockRate && isSuitable($0) }
    }
    switch media.kind {
    case "video":
      if let format = first("H264", 90_000, where: { $0.parameters["packetization-mode"] == "1" })
        ?? first("H264", 90_000, where: { ["0", nil].contains($0.parameters["packetization-mode"]) })
      {
        return (.h264, format)
      }
      return first("VP8", 90_000).map { (.vp8, $0) }
    case "audio": return first("opus", 48_000, where: { (1...2).contains($0.map.channelCount) }).map { (.opus, $0) }
    default: return nil
    }
  }

  private static func formatAttributes(_ track: Track, _ media: WebRTCOfferMedia) -> [SDPAttribute] {
    guard let format = media.formats.first(where: { $0.payloadType == track.payloadType }) else { return [] }
    let payloadType = format.payloadType
    let channels = format.map.channelCount > 1 ? "/\(format.map.channelCount)" : ""
    var attributes = [
      SDPAttribute("rtpmap", "\(payloadType) \(format.map.encoding)/\(format.map.clockRate)\(channels)")
    ]
    let parameters = Self.parameters(track.codec, format.parameters)
    if !parameters.parameters.isEmpty { attributes.append(SDPAttribute("fmtp", "\(payloadType) \(parameters.text)")) }
    for (name, value) in WebRTCOfferMedia.Feedback.names where track.feedback.contains(value) {
      attributes.append(SDPAttribute("rtcp-fb", "\(payloadType) \(name)"))
    }
    if let retransmission = track.retransmissionPayloadType {
      attributes.append(SDPAttribute("rtpmap", "\(retransmission) rtx/\(format.map.clockRate)"))
      attributes.append(SDPAttribute("fmtp", "\(retransmission) apt=\(payloadType)"))
    }
    return attributes
  }

  /// Parameters of the answer: those of the offer that both sides must agree on, and what the server prefers to receive.
  private static func parameters(_ codec: Codec, _ offered: SDPFormatParameters) -> SDPFormatParameters {
    switch codec {
    case .vp8: return SDPFormatParameters([])
    case .opus:
      // Wishes of the receiver alone, RFC 7587 §6.1: browsers encode both channels only where the answer has it. Forward error
      // correction is not among them, since the decoder does not use it.
      return SDPFormatParameters([.init("minptime", "10"), .init("stereo", "1")])
    case .h264:
      var answered: [SDPFormatParameters.Parameter] = []
      let isAsymmetric = offered["level-asymmetry-allowed"] == "1"
      if isAsymmetric { answered.append(.init("level-asymmetry-allowed", "1")) }
      if let mode = offered["packetization-mode"] { answered.append(.init("packetization-mode", mode)) }
      if let text = offered["profile-level-id"], var level = try? H264ProfileLevel(parsing: text) {
        if isAsymmetric { level.levelIDC = max(level.levelIDC, Self.acceptedLevelIDC) }
        answered.append(.init("profile-level-id", level.text))
      }
      return SDPFormatParameters(answered)
    }
  }
}
