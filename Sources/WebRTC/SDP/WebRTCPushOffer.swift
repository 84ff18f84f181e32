package import NIOCore
package import RTP

/// The offer of a client that sends one video and one audio track to a server, and receives nothing, RFC 9725 §4.2.
///
/// The offer is complete: all addresses of the client are in it, so that no `PATCH` follows. Video is H.264 in packetization mode 1, as the
/// stream has it. Where that is not Constrained Baseline, this is offered too, with another payload type: servers whose list of profiles
/// is short forward what comes all the same. ``accept(_:)`` prefers the stream's own.
package struct WebRTCPushOffer: Sendable {
  /// Tracks, credentials and addresses of the client; at least one track, and any number of addresses.
  package typealias Configuration = WebRTCAnswer.Configuration

  /// Reason for which nothing is sent after an answer.
  package enum Refusal: Error, Hashable, Sendable, CaseIterable {
    /// The answer is no session description.
    case malformed
    /// The answer takes no track of the kind that is needed: video, or audio of a stream without video.
    case nothingFits
    /// The answer lacks ICE credentials or a fingerprint of a known algorithm.
    case noTransport
  }

  /// Payload types. Those of a track and of its retransmissions follow each other.
  private static let (ownPayloadType, baselinePayloadType, opusPayloadType): (UInt8, UInt8, UInt8) = (96, 98, 111)
  /// Identifiers of the header extensions.
  private static let extensionIDs: [(uri: String, id: UInt8)] = [
    (WebRTCAnswer.ExtensionURI.mid, 1), (WebRTCAnswer.ExtensionURI.transportWideCC, 2),
  ]
  /// Feedback of video that is answered to.
  private static let feedback: WebRTCOfferMedia.Feedback = [.nack, .nackPLI, .ccmFIR, .transportCC, .googREMB]
  /// Identifiers of the tracks.
  private static let (videoMid, audioMid) = ("0", "1")

  /// The offer.
  package let description: SessionDescription
  private let configuration: Configuration

  /// Creates the offer.
  package init(_ configuration: Configuration) {
    precondition(configuration.video != nil || configuration.hasAudio, "something is sent")
    self.configuration = configuration
    var description = SessionDescription(name: "-", sessionID: configuration.sessionID, address: "0.0.0.0")
    description.connection = nil
    var mids: [String] = []
    if let video = configuration.video {
      mids.append(Self.videoMid)
      description.media.append(Self.video(video, configuration))
    }
    if configuration.hasAudio {
      mids.append(Self.audioMid)
      description.media.append(Self.audio(configuration))
    }
    description.attributes = [
      SDPAttribute("group", (["BUNDLE"] + mids).joined(separator: " ")), WebRTCAnswer.iceOptions,
      SDPAttribute("msid-semantic", "WMS *"),
    ]
    // The candidates of the first track are those of the bundle.
    description.media[0].attributes += WebRTCAnswer.candidateAttributes(configuration.candidates)
    self.description = description
  }

  /// The offer as text, `application/sdp`.
  package var text: ByteBuffer {
    var text = ByteBuffer()
    self.description.serialize(into: &text)
    return text
  }

  private static func transportAttributes(_ mid: String, _ configuration: Configuration) -> [SDPAttribute] {
    [
      SDPAttribute("mid", mid), SDPAttribute("ice-ufrag", configuration.credentials.usernameFragment),
      SDPAttribute("ice-pwd", configuration.credentials.password),
      SDPAttribute("fingerprint", configuration.fingerprint.description), SDPAttribute("setup", "actpass"),
      SDPAttribute("sendonly"), SDPAttribute("rtcp-mux"), SDPAttribute("rtcp-rsize"),
    ]
  }

  private static func video(_ stream: H264ProfileLevel, _ configuration: Configuration) -> MediaDescription {
    let formats = Self.videoFormats(stream)
    var media = MediaDescription(
      media: "video", port: 9, transport: "UDP/TLS/RTP/SAVPF",
      formats: formats.flatMap { ["\($0.payloadType)", "\($0.payloadType + 1)"] })
    media.connection = "IN IP4 0.0.0.0"
    media.attributes = Self.transportAttributes(Self.videoMid, configuration)
    for (uri, id) in Self.extensionIDs { media.attributes.append(SDPAttribute("extmap", "\(id) \(uri)")) }
    for (payloadType, profileLevel) in formats {
      let parameters = SDPFormatParameters([
        .init("level-asymmetry-allowed", "1"), .init("packetization-mode", "1"),
        .init("profile-level-id", profileLevel.text),
      ])
      media.attributes += [
        SDPAttribute("rtpmap", "\(payloadType) H264/90000"), SDPAttribute("fmtp", "\(payloadType) \(parameters.text)"),
      ]
      for (name, value) in WebRTCOfferMedia.Feedback.names where Self.feedback.contains(value) {
        media.attributes.append(SDPAttribute("rtcp-fb", "\(payloadType) \(name)"))
      }
      media.attributes += [
        SDPAttribute("rtpmap", "\(payloadType + 1) rtx/90000"),
        SDPAttribute("fmtp", "\(payloadType + 1) apt=\(payloadType)"),
      ]
    }
    let (video, retransmission) = (configuration.ssrcs.video, configuration.ssrcs.retransmission)
    media.attributes.append(SDPAttribute("msid", "vidicon video"))
    media.attributes.append(SDPAttribute("ssrc-group", "FID \(video) \(retransmission)"))
    for ssrc in [video, retransmission] {
      media.attributes.append(SDPAttribute("ssrc", "\(ssrc) cname:\(WebRTCAnswer.canonicalName)"))
    }
    return media
  }

  /// The stream's own format, and that of Constrained Baseline where it is another one, with its level.
  private static func videoFormats(
    _ stream: H264ProfileLevel
  ) -> [(payloadType: UInt8, profileLevel: H264ProfileLevel)] {
    guard stream.profile != .constrainedBaseline else { return [(Self.ownPayloadType, stream)] }
    var baseline = H264ProfileLevel.constrainedBaseline
    baseline.levelIDC = stream.levelIDC
    return [(Self.ownPayloadType, stream), (Self.baselinePayloadType, baseline)]
  }

  private static func audio(_ configuration: Configuration) -> MediaDescription {
    let payloadType = Self.opusPayloadType
    var media = MediaDescription(
      media: "audio", port: 9, transport: "UDP/TLS/RTP/SAVPF", formats: ["\(payloadType)"])
    media.connection = "IN IP4 0.0.0.0"
    media.attributes = Self.transportAttributes(Self.audioMid, configuration)
    // Feedback for each audio packet costs more than it shows.
    for (uri, id) in Self.extensionIDs where uri == WebRTCAnswer.ExtensionURI.mid {
      media.attributes.append(SDPAttribute("extmap", "\(id) \(uri)"))
    }
    media.attributes += [
      SDPAttribute("rtpmap", "\(payloadType) opus/48000/2"),
      SDPAttribute("fmtp", "\(payloadType) minptime=10;stereo=1;sprop-stereo=1"),
      SDPAttribute("msid", "vidicon audio"),
      SDPAttribute("ssrc", "\(configuration.ssrcs.audio) cname:\(WebRTCAnswer.canonicalName)"),
    ]
    return media
  }
}

// MARK: The answer

extension WebRTCPushOffer {
  /// Reads the server's answer. A server may leave out the audio of a stream with video, not the video.
  package func accept(_ answer: WebRTCOffer) throws(Refusal) -> WebRTCPushAnswer {
    let video = answer.media.first { $0.kind == "video" }.flatMap(self.videoTrack)
    let audio = answer.media.first { $0.kind == "audio" }.flatMap(self.audioTrack)
    guard self.configuration.video == nil ? audio != nil : video != nil else { throw .nothingFits }
    guard let media = answer.media.first(where: { !$0.isRejected && $0.transport.credentials != nil }),
      let credentials = media.transport.credentials, !media.transport.fingerprints.isEmpty
    else { throw .noTransport }
    return WebRTCPushAnswer(
      video: video, audio: audio, credentials: credentials, fingerprints: media.transport.fingerprints,
      // An answer names one of the two, RFC 8842 §5.3; servers that repeat actpass wait for the ClientHello.
      role: media.transport.setup == "active" ? .server : .client, candidates: answer.media.flatMap(\.candidates))
  }

  private func videoTrack(_ media: WebRTCOfferMedia) -> WebRTCAnswer.Track? {
    guard let stream = self.configuration.video else { return nil }
    let formats = Self.videoFormats(stream)
    for (payloadType, profileLevel) in formats {
      guard
        var track = self.track(
          media, payloadType: payloadType, encoding: "H264", ssrc: self.configuration.ssrcs.video)
      else { continue }
      track.decoder = WebRTCAnswer.VideoDecoder(
        profileLevel: profileLevel, allowsOtherLevel: true, mode: .nonInterleaved)
      if track.feedback.contains(.nack),
        media.formats.contains(where: { $0.payloadType == payloadType + 1 && $0.map.isEncoding("rtx") })
      {
        track.retransmissionPayloadType = payloadType + 1
      }
      return track
    }
    return nil
  }

  private func audioTrack(_ media: WebRTCOfferMedia) -> WebRTCAnswer.Track? {
    guard self.configuration.hasAudio else { return nil }
    return self.track(
      media, payloadType: Self.opusPayloadType, encoding: "opus", ssrc: self.configuration.ssrcs.audio)
  }

  /// The track of an answered payload type; nil when it is not received.
  private func track(
    _ media: WebRTCOfferMedia, payloadType: UInt8, encoding: String, ssrc: UInt32
  ) -> WebRTCAnswer.Track? {
    guard !media.isRejected, media.direction == .receiveOnly || media.direction == .sendReceive,
      let format = media.formats.first(where: { $0.payloadType == payloadType && $0.map.isEncoding(encoding) })
    else { return nil }
    var ids: [String: UInt8] = [:]
    for (uri, id) in Self.extensionIDs where media.extensionID(uri) == id { ids[uri] = id }
    return WebRTCAnswer.Track(
      mid: media.mid, payloadType: payloadType, ssrc: ssrc, retransmissionPayloadType: nil,
      retransmissionSSRC: self.configuration.ssrcs.retransmission,
      feedback: encoding == "opus" ? [] : format.feedback, extensionIDs: ids, decoder: nil)
  }
}

/// Tracks that a server takes of a stream that is pushed to it, and its transport: the offer and its answer together.
package struct WebRTCPushAnswer: Hashable, Sendable {
  /// The video track; nil when none is sent.
  package var video: WebRTCAnswer.Track?
  /// The audio track; nil when none is sent.
  package var audio: WebRTCAnswer.Track?
  /// The server's ICE credentials.
  package var credentials: ICECredentials
  /// Certificates that the server may present.
  package var fingerprints: [CertificateFingerprint]
  /// Our role in DTLS.
  package var role: DTLSRole
  /// Addresses of the server, UDP and others.
  package var candidates: [ICECandidate]

  /// Creates an answer.
  package init(
    video: WebRTCAnswer.Track? = nil, audio: WebRTCAnswer.Track? = nil, credentials: ICECredentials,
    fingerprints: [CertificateFingerprint], role: DTLSRole, candidates: [ICECandidate]
  ) {
    self.video = video
    self.audio = audio
    self.credentials = credentials
    self.fingerprints = fingerprints
    self.role = role
    self.candidates = candidates
  }
}
