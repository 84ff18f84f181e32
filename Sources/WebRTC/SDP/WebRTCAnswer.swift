package import RTP

/// The answer of a server that sends one video and one audio track to a client, and receives nothing, RFC 8829 §5.3.
///
/// | offered | answered |
/// |---------|----------|
/// | a track that the server has, in a format of the client | `sendonly`, payload types and extension identifiers of the offer |
/// | a track that the server does not have, or that the client does not receive | `inactive` |
/// | video without H.264, audio without Opus | port 0 |
/// | video whose H.264 does not decode the stream | refused, with the cause: audio alone would look like a fault |
/// | `m=application`, a second track of a kind, a track outside the bundle or without rtcp-mux | port 0 |
package struct WebRTCAnswer: Hashable, Sendable {
  /// Tracks, credentials and addresses of the end that sends: a server, or a client that pushes.
  package struct Configuration: Sendable {
    /// Identifies the session in `o=`.
    package var sessionID: UInt64
    /// ICE credentials of that end, `a=ice-ufrag` and `a=ice-pwd`.
    package var credentials: ICECredentials
    /// SHA-256 of that end's certificate.
    package var fingerprint: CertificateFingerprint
    /// Addresses of that end, the best one first; at least one of a server. Duplicates are left out of answers.
    package var candidates: [TransportAddress]
    /// Profile and level of the stream's H.264; nil without video.
    package var video: H264ProfileLevel?
    /// Packetization mode of the stream's H.264.
    package var packetizationMode = H264PacketizationMode.nonInterleaved
    /// Whether the stream has audio.
    package var hasAudio: Bool
    /// SSRC of video, of its retransmissions and of audio: different random numbers.
    package var ssrcs: (video: UInt32, retransmission: UInt32, audio: UInt32)

    /// Creates a configuration.
    package init(
      sessionID: UInt64, credentials: ICECredentials, fingerprint: CertificateFingerprint,
      candidates: [TransportAddress], video: H264ProfileLevel?, hasAudio: Bool,
      ssrcs: (video: UInt32, retransmission: UInt32, audio: UInt32)
    ) {
      self.sessionID = sessionID
      self.credentials = credentials
      self.fingerprint = fingerprint
      self.candidates = candidates
      self.video = video
      self.hasAudio = hasAudio
      self.ssrcs = ssrcs
    }

    /// Whether the stream has media of a kind, "video" or "audio".
    fileprivate func hasMedia(_ kind: String) -> Bool { kind == "video" ? self.video != nil : self.hasAudio }
  }

  /// Reasons why an offer is not answered.
  package enum Refusal: Error, Hashable, Sendable, CaseIterable {
    /// No track of the offer can carry anything of the stream: HTTP 406.
    case nothingFits
    /// The offer wants to receive no track that the stream could fill: all are `a=sendonly` or `a=inactive`: HTTP 406.
    case receivesNothing
    /// The H.264 of the offer has packetization mode 2, or mode 0 where the stream's NAL units do not fit into packets: HTTP 406.
    case packetizationMode
    /// The H.264 of the offer has no profile that decodes the stream: HTTP 406.
    case profile
    /// The H.264 of the offer has a level below the stream's, and does not allow another one: HTTP 406.
    case level
    /// The offer lacks ICE credentials or a fingerprint of a known algorithm: HTTP 400.
    case noTransport
    /// The client wants no connection yet, `a=setup:holdconn`: HTTP 400.
    case holdsConnection
  }

  /// A track that is sent.
  package struct Track: Hashable, Sendable {
    /// The track's mid; nil when the client has none.
    package var mid: String?
    /// Payload type that the client offered for the codec, 0 to 127.
    package var payloadType: UInt8
    /// SSRC of the track's packets, `a=ssrc`.
    package var ssrc: UInt32
    /// The client's payload type of retransmissions, RFC 4588; nil without them.
    package var retransmissionPayloadType: UInt8?
    /// SSRC of the packets that are sent again, RFC 4588; unused without a payload type for them.
    package var retransmissionSSRC: UInt32
    /// Feedback that was agreed on.
    package var feedback: WebRTCOfferMedia.Feedback
    /// Agreed header extensions, by their URI.
    package var extensionIDs: [String: UInt8]
    /// H.264 that the client decodes in this payload type; nil for audio.
    package var decoder: VideoDecoder?
  }

  /// A client's decoder of H.264, as a format of its offer describes it.
  package struct VideoDecoder: Hashable, Sendable {
    /// Profile and level of the format.
    package var profileLevel: H264ProfileLevel
    /// Whether the level that is sent may differ from that of the format, RFC 6184 §8.1.
    package var allowsOtherLevel: Bool
    /// Packetization mode of the format.
    package var mode: H264PacketizationMode

    /// Rank of the decoder for a stream: 0 is best; nil when it does not decode it.
    fileprivate func rank(for stream: H264ProfileLevel, _ mode: H264PacketizationMode) -> Int? {
      guard self.receives(mode), self.allowsOtherLevel || self.profileLevel.levelIDC >= stream.levelIDC else {
        return nil
      }
      return self.profileLevel.rank(for: stream)
    }

    /// Whether it depacketizes a mode: one of fragments also receives packets without.
    fileprivate func receives(_ mode: H264PacketizationMode) -> Bool { self.mode.rawValue >= mode.rawValue }

    /// Whether it decodes a stream that is packetized in a mode.
    package func decodes(_ stream: H264ProfileLevel, _ mode: H264PacketizationMode = .nonInterleaved) -> Bool {
      self.rank(for: stream, mode) != nil
    }
  }

  /// Session description of the answer, as it is sent.
  package private(set) var description: SessionDescription
  /// The video track; nil when none is sent.
  package private(set) var video: Track?
  /// The audio track; nil when none is sent.
  package private(set) var audio: Track?
  /// ICE and DTLS of the client.
  package private(set) var clientTransport: WebRTCOfferMedia.Transport
  /// Our role in DTLS.
  package let role: DTLSRole

  /// Answers an offer: chooses a payload type for each track of the stream.
  ///
  /// - Throws: The ``Refusal`` of an offer that no answer fits.
  package init(_ offer: WebRTCOffer, _ configuration: Configuration) throws(Refusal) {
    precondition(!configuration.candidates.isEmpty, "the server has an address")
    let accepted = Self.acceptedIndexes(offer, configuration)
    if let refusal = Self.videoRefusal(offer, configuration) { throw refusal }
    guard let first = accepted.first else { throw .nothingFits }
    let transport = offer.media[first].transport
    guard transport.credentials != nil, !transport.fingerprints.isEmpty else { throw .noTransport }
    guard let role = transport.role else { throw .holdsConnection }
    self.clientTransport = transport
    self.role = role
    self.description = SessionDescription(
      name: "-", sessionID: configuration.sessionID, address: "0.0.0.0")
    self.description.connection = nil
    for (index, media) in offer.media.enumerated() {
      guard accepted.contains(index), let selection = Self.select(media, configuration) else {
        self.description.media.append(Self.rejected(media))
        continue
      }
      self.append(media, selection, configuration, isFirst: index == first)
    }
    guard self.video != nil || self.audio != nil else {
      let hasMedia = accepted.contains { configuration.hasMedia(offer.media[$0].kind) }
      throw hasMedia ? Refusal.receivesNothing : .nothingFits
    }
    self.description.attributes = [
      SDPAttribute("ice-lite"), WebRTCAnswer.iceOptions, SDPAttribute("msid-semantic", "WMS *"),
    ]
    let mids = accepted.compactMap { offer.media[$0].mid }
    if offer.bundledMids != nil {
      self.description.attributes.insert(SDPAttribute("group", (["BUNDLE"] + mids).joined(separator: " ")), at: 0)
    }
  }

  /// Tracks of an answer with media, in their order. All share a transport: those of the bundle, or one of an offer without.
  private static func acceptedIndexes(_ offer: WebRTCOffer, _ configuration: Configuration) -> [Int] {
    let bundled = offer.bundledMids.map { Set($0) }
    var kinds: Set<String> = []
    var accepted: [Int] = []
    for (index, media) in offer.media.enumerated() {
      let isReachable = if let bundled { media.mid.map(bundled.contains) ?? false } else { true }
      guard isReachable, !media.isRejected, media.hasRTCPMux, Self.protocols.contains(media.transportProtocol),
        Self.select(media, configuration) != nil, kinds.insert(media.kind).inserted
      else { continue }
      accepted.append(index)
    }
    return bundled == nil ? Self.single(accepted, of: offer) : accepted
  }

  /// The track of an offer without a bundle, in which each has a transport of its own: video, or else audio.
  static func single(_ tracks: [Int], of offer: WebRTCOffer) -> [Int] {
    (tracks.first { offer.media[$0].kind == "video" } ?? tracks.first).map { [$0] } ?? []
  }

  /// Protocols of RTP over DTLS; all mean the same, RFC 8829 §5.1.2.
  static let protocols: Set<String> = [
    "UDP/TLS/RTP/SAVPF", "TCP/TLS/RTP/SAVPF", "RTP/SAVPF", "UDP/TLS/RTP/SAVP", "TCP/TLS/RTP/SAVP", "RTP/SAVP",
  ]

  static func rejected(_ media: WebRTCOfferMedia) -> MediaDescription {
    var description = MediaDescription(
      media: media.kind, port: 0, transport: media.transportProtocol, formats: [media.firstFormat])
    description.connection = "IN IP4 0.0.0.0"
    description.attributes = media.mid.map { [SDPAttribute("mid", $0)] } ?? []
    description.attributes.append(SDPAttribute("inactive"))
    return description
  }

  /// Appends an accepted track.
  private mutating func append(
    _ media: WebRTCOfferMedia, _ selection: Selection, _ configuration: Configuration, isFirst: Bool
  ) {
    let isVideo = media.kind == "video"
    let isWanted = media.direction == .receiveOnly || media.direction == .sendReceive
    let isSent = isWanted && configuration.hasMedia(media.kind)
    let track = Track(
      mid: media.mid, payloadType: selection.format.payloadType,
      ssrc: isVideo ? configuration.ssrcs.video : configuration.ssrcs.audio,
      retransmissionPayloadType: selection.retransmission?.payloadType,
      retransmissionSSRC: configuration.ssrcs.retransmission,
      feedback: selection.feedback, extensionIDs: Self.extensionIDs(media, selection), decoder: selection.decoder)
    let first = configuration.candidates[0]
    var description = MediaDescription(
      media: media.kind, port: first.port, transport: media.transportProtocol,
      formats: selection.formats.map { "\($0.payloadType)" })
    description.connection = "IN \(first.isIPv6 ? "IP6" : "IP4") \(first.ip)"
    if let mid = media.mid { description.attributes.append(SDPAttribute("mid", mid)) }
    description.attributes += [
      SDPAttribute("ice-ufrag", configuration.credentials.usernameFragment),
      SDPAttribute("ice-pwd", configuration.credentials.password),
      SDPAttribute("fingerprint", configuration.fingerprint.description), SDPAttribute("setup", self.role.rawValue),
      SDPAttribute(isSent ? "sendonly" : "inactive"), SDPAttribute("rtcp-mux"),
    ]
    if media.hasReducedSizeRTCP { description.attributes.append(SDPAttribute("rtcp-rsize")) }
    if isVideo, isSent, media.hasReceiverRoundTrip {
      description.attributes.append(SDPAttribute("rtcp-xr", "rcvr-rtt=all"))
    }
    for (id, uri, direction) in Self.extensions(media, track.extensionIDs) {
      description.attributes.append(SDPAttribute("extmap", "\(id)\(direction) \(uri)"))
    }
    selection.appendAttributes(to: &description)
    if isSent {
      description.attributes += Self.sourceAttributes(track, isVideo: isVideo)
      if isVideo { self.video = track } else { self.audio = track }
    }
    if isFirst {
      var seen: Set<TransportAddress> = []
      description.attributes += Self.candidateAttributes(configuration.candidates.filter { seen.insert($0).inserted })
    }
    self.description.media.append(description)
  }

  /// All addresses of an end, the best one first.
  static func candidateAttributes(_ addresses: [TransportAddress]) -> [SDPAttribute] {
    addresses.enumerated().map { SDPAttribute("candidate", ICECandidate(host: $1, rank: $0).description) }
      + [SDPAttribute("end-of-candidates")]
  }

  /// Compliance with RFC 8445, which each of its agents states, lite ones too: §10 and RFC 8839 §5.6.
  static let iceOptions = SDPAttribute("ice-options", "ice2")

  /// CNAME of the tracks in answers and reports, by which clients synchronize them, RFC 3550 §6.5.1. A session has one stream.
  package static let canonicalName = "vidicon"

  /// Names of track and sources; clients that see retransmissions of an undeclared SSRC drop them.
  private static func sourceAttributes(_ track: Track, isVideo: Bool) -> [SDPAttribute] {
    let kind = isVideo ? "video" : "audio"
    var attributes = [SDPAttribute("msid", "vidicon \(kind)")]
    var ssrcs = [track.ssrc]
    if track.retransmissionPayloadType != nil {
      ssrcs.append(track.retransmissionSSRC)
      attributes.append(SDPAttribute("ssrc-group", "FID \(track.ssrc) \(track.retransmissionSSRC)"))
    }
    for ssrc in ssrcs {
      attributes.append(SDPAttribute("ssrc", "\(ssrc) cname:\(Self.canonicalName)"))
      attributes.append(SDPAttribute("ssrc", "\(ssrc) msid:vidicon \(kind)"))
    }
    return attributes
  }
}

extension WebRTCAnswer.VideoDecoder {
  /// A decoder as the parameters of a format describe it; nil for a profile that is malformed, and for interleaved mode.
  ///
  /// Without the parameters a decoder has mode 0 and Baseline, RFC 6184 §8.1. The level would be 1 then, 176×144: embedded clients,
  /// GStreamer and old browsers leave the parameter out and mean no level, so that any is sent.
  fileprivate init?(_ parameters: SDPFormatParameters) {
    guard let mode = Self.mode(parameters) else { return nil }
    self.mode = mode
    guard let text = parameters["profile-level-id"] else {
      (self.profileLevel, self.allowsOtherLevel) = (.default, true)
      return
    }
    guard let profileLevel = try? H264ProfileLevel(parsing: text) else { return nil }
    self.profileLevel = profileLevel
    self.allowsOtherLevel = parameters["level-asymmetry-allowed"] == "1"
  }

  /// The packetization mode of a format: 0 without the parameter; nil for one that is not supported.
  fileprivate static func mode(_ parameters: SDPFormatParameters) -> H264PacketizationMode? {
    guard let text = parameters["packetization-mode"] else { return .singleNALUnit }
    return Int(text).flatMap(H264PacketizationMode.init(rawValue:))
  }
}

// MARK: Formats and extensions

extension WebRTCAnswer {
  /// URIs of the header extensions that are sent, `a=extmap`.
  package enum ExtensionURI {
    /// The track's mid in each packet, RFC 9143 §15.
    package static let mid = "urn:ietf:params:rtp-hdrext:sdes:mid"
    /// Send time, for the estimate of receivers.
    package static let absoluteSendTime = "http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time"
    /// Sequence number over all tracks, for the estimate of senders.
    package static let transportWideCC =
      "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01"
    /// Bounds of the client's playout delay.
    package static let playoutDelay = "http://www.webrtc.org/experiments/rtp-hdrext/playout-delay"
  }

  /// The formats of a track that the answer has.
  fileprivate struct Selection {
    var format: WebRTCOfferMedia.Format
    var parameters: SDPFormatParameters
    var retransmission: WebRTCOfferMedia.Format?
    var feedback: WebRTCOfferMedia.Feedback
    /// The decoder of ``format``; nil for audio.
    var decoder: VideoDecoder?

    var formats: [WebRTCOfferMedia.Format] { [self.format] + (self.retransmission.map { [$0] } ?? []) }

    func appendAttributes(to description: inout MediaDescription) {
      let payloadType = self.format.payloadType
      let map = self.format.map
      let channels = map.channelCount > 1 ? "/\(map.channelCount)" : ""
      description.attributes.append(
        SDPAttribute("rtpmap", "\(payloadType) \(map.encoding)/\(map.clockRate)\(channels)"))
      description.attributes.append(SDPAttribute("fmtp", "\(payloadType) \(self.parameters.text)"))
      for (name, value) in WebRTCOfferMedia.Feedback.names where self.feedback.contains(value) {
        description.attributes.append(SDPAttribute("rtcp-fb", "\(payloadType) \(name)"))
      }
      if let retransmission = self.retransmission {
        description.attributes.append(
          SDPAttribute("rtpmap", "\(retransmission.payloadType) rtx/\(retransmission.map.clockRate)"))
        description.attributes.append(SDPAttribute("fmtp", "\(retransmission.payloadType) apt=\(payloadType)"))
      }
    }
  }

  fileprivate static func select(_ media: WebRTCOfferMedia, _ configuration: Configuration) -> Selection? {
    switch media.kind {
    case "video": Self.selectVideo(media, configuration.video, configuration.packetizationMode)
    case "audio": Self.selectAudio(media)
    default: nil
    }
  }

  /// The H.264 format whose decoders suit the stream best.
  private static func selectVideo(
    _ media: WebRTCOfferMedia, _ stream: H264ProfileLevel?, _ mode: H264PacketizationMode
  ) -> Selection? {
    // A track that is not sent gets the client's first choice.
    let wanted = stream ?? .constrainedBaseline
    let mode = stream == nil ? .singleNALUnit : mode
    var best: (rank: Int, format: WebRTCOfferMedia.Format, decoder: VideoDecoder)?
    for format in media.formats where Self.isH264(format) {
      guard let decoder = VideoDecoder(format.parameters), let rank = decoder.rank(for: wanted, mode),
        best.map({ rank < $0.rank }) ?? true
      else { continue }
      best = (rank, format, decoder)
    }
    guard let best else { return nil }
    var answered = best.decoder.profileLevel
    answered.levelIDC = wanted.levelIDC
    let retransmission = media.formats.first {
      $0.map.isEncoding("rtx") && $0.parameters["apt"] == "\(best.format.payloadType)"
    }
    return Selection(
      format: best.format,
      parameters: SDPFormatParameters([
        .init("level-asymmetry-allowed", "1"), .init("packetization-mode", "\(best.decoder.mode.rawValue)"),
        .init("profile-level-id", answered.text),
      ]),
      retransmission: best.format.feedback.contains(.nack) ? retransmission : nil, feedback: best.format.feedback,
      decoder: best.decoder)
  }

  private static func isH264(_ format: WebRTCOfferMedia.Format) -> Bool {
    format.map.isEncoding("H264") && format.map.clockRate == 90_000
  }

  /// Whether a client decodes H.264 of this profile, level and mode in any track that it wants.
  package static func hasDecoder(
    of video: H264ProfileLevel, _ mode: H264PacketizationMode = .nonInterleaved, in offer: WebRTCOffer
  ) -> Bool {
    offer.media.contains { $0.kind == "video" && !$0.isRejected && Self.selectVideo($0, video, mode) != nil }
  }

  /// Reason why no H.264 of the tracks that a client wants decodes the stream; nil where one does, and for an offer without H.264
  /// or a stream without video.
  private static func videoRefusal(_ offer: WebRTCOffer, _ configuration: Configuration) -> Refusal? {
    guard let video = configuration.video else { return nil }
    let tracks = offer.media.filter {
      $0.kind == "video" && !$0.isRejected && ($0.direction == .receiveOnly || $0.direction == .sendReceive)
    }
    let parameters = tracks.flatMap(\.formats).filter { Self.isH264($0) }.map(\.parameters)
    guard !parameters.isEmpty, tracks.allSatisfy({ Self.select($0, configuration) == nil }) else { return nil }
    let suitable = parameters.filter {
      VideoDecoder.mode($0).map { $0.rawValue >= configuration.packetizationMode.rawValue } ?? false
    }
    guard !suitable.isEmpty else { return .packetizationMode }
    let decoders = suitable.compactMap { VideoDecoder($0) }
    if decoders.contains(where: { $0.profileLevel.rank(for: video) != nil }) { return .level }
    // A client whose profiles do not decode the stream gets Constrained Baseline, unless its level is too low for that as well.
    let baseline = decoders.filter { $0.profileLevel.rank(for: .constrainedBaseline) != nil }
    return baseline.isEmpty || baseline.contains { $0.decodes(.constrainedBaseline, configuration.packetizationMode) }
      ? .profile : .level
  }

  /// Opus, RFC 7587 §7; its map is always 48,000 Hz and 2 channels. Embedded clients leave the channels out, which means one in RFC
  /// 8866 §6.6: decoders of Opus decode either.
  private static func selectAudio(_ media: WebRTCOfferMedia) -> Selection? {
    guard
      let format = media.formats.first(where: {
        $0.map.isEncoding("opus") && $0.map.clockRate == 48_000 && (1...2).contains($0.map.channelCount)
      })
    else { return nil }
    // Feedback for each audio packet costs more than it shows.
    return Selection(
      format: format,
      parameters: SDPFormatParameters([
        .init("minptime", "10"), .init("stereo", "1"), .init("sprop-stereo", "1"),
      ]), retransmission: nil, feedback: [])
  }

  private static func extensionIDs(_ media: WebRTCOfferMedia, _ selection: Selection) -> [String: UInt8] {
    var uris = [ExtensionURI.mid]
    if media.kind == "video" {
      uris.append(ExtensionURI.playoutDelay)
      // Either serves an estimate; the client's own needs send times.
      uris.append(
        selection.feedback.contains(.transportCC) ? ExtensionURI.transportWideCC : ExtensionURI.absoluteSendTime)
    }
    var ids: [String: UInt8] = [:]
    for uri in uris { ids[uri] = media.extensionID(uri) }
    return ids
  }

  /// Agreed extensions, in the order of their identifiers. A restricted direction is answered by its opposite.
  private static func extensions(
    _ media: WebRTCOfferMedia, _ ids: [String: UInt8]
  ) -> [(id: UInt8, uri: String, direction: String)] {
    ids.sorted { $0.value < $1.value }.map { uri, id in
      let isRestricted = media.extensions.contains { $0.id == id && $0.direction == .receiveOnly }
      return (id, uri, isRestricted ? "/sendonly" : "")
    }
  }
}
