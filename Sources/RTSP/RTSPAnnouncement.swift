package import Media
package import NIOCore
package import RTP

/// A stream that a client announces to send, RFC 2326 §10.3.
package struct RTSPAnnouncement: Hashable, Sendable {
  /// One track of the session description.
  package struct Track: Hashable, Sendable {
    /// Codec, payload type and clock; nil where its packets are dropped, since its codec is not supported or another track of its
    /// kind comes before it.
    package var format: RTPMediaFormat?
    /// The value of `a=control`: absolute, or relative to the stream's URL; empty without one.
    package var control: String

    /// Creates a track with its control value.
    package init(format: RTPMediaFormat?, control: String) {
      self.format = format
      self.control = control
    }
  }

  /// Name of the stream that is sent: its ``RTSPStreamDescription/name``.
  package var streamName: String
  /// The tracks in the order of the session description: one of video, one of audio, or both have a format.
  package var tracks: [Track]
  /// Kinds of which no track is supported, with the name of the first one's codec.
  package private(set) var unsupportedCodecs: [MediaKind: String] = [:]

  /// Parses the body of an ANNOUNCE request. A track that cannot be received takes nothing from the others.
  ///
  /// - Throws: `ParsingError` of the first track when none can be received: `.unsupported` for other codecs or encrypted RTP, others
  ///   where the session description is malformed or has no track.
  package init(streamName: String, parsing body: ByteBuffer) throws(ParsingError) {
    self.streamName = streamName
    self.tracks = []
    var failure: ParsingError?
    let description = try SessionDescription(parsing: body)
    guard description.media.count <= Self.maximumTrackCount else { throw ParsingError(.unsupported, field: "m=") }
    for media in description.media {
      var format: RTPMediaFormat?
      do throws(ParsingError) {
        format = try Self.format(of: media)
      } catch {
        failure = failure ?? error
        if let kind = MediaKind(rawValue: media.media), self.unsupportedCodecs[kind] == nil {
          let map = media.payloadType.flatMap { media.rtpMap(payloadType: $0) }
          self.unsupportedCodecs[kind] = map?.encoding ?? "payload type \(media.payloadType ?? 0)"
        }
      }
      if let kind = format?.kind, self.tracks.contains(where: { $0.format?.kind == kind }) { format = nil }
      self.tracks.append(Track(format: format, control: media.control ?? ""))
    }
    for track in self.tracks {
      if let kind = track.format?.kind { self.unsupportedCodecs[kind] = nil }
    }
    guard self.tracks.contains(where: { $0.format != nil }) else {
      throw failure ?? ParsingError(.missing, field: "m=")
    }
  }

  /// Maximum number of tracks, each of which may have ports of its own.
  private static let maximumTrackCount = 8

  private static func format(of media: MediaDescription) throws(ParsingError) -> RTPMediaFormat {
    guard media.transport == "RTP/AVP" || media.transport == "RTP/AVP/TCP" || media.transport == "RTP/AVPF" else {
      throw ParsingError(.unsupported, field: "m=")
    }
    return try RTPMediaFormat(media)
  }
}

/// The tracks that a client sends and their transports.
package struct RTSPRecording: Hashable, Sendable {
  /// One track that the client has set up.
  package struct Track: Hashable, Sendable {
    /// Index of the track in ``RTSPAnnouncement/tracks``.
    package var index: Int
    /// Transport of its packets: channels of the connection, or UDP ports.
    package var transport: RTSPTrackTransport
  }

  /// Name of the stream: ``RTSPAnnouncement/streamName``.
  package var streamName: String
  /// The tracks that were set up, ordered by ``Track/index``.
  package var tracks: [Track]
}

/// Reasons why a stream cannot be sent by a client.
package enum RTSPPublicationRefusal: Hashable, Sendable {
  /// The stream's source is another one.
  case otherSource
  /// Another client sends it.
  case alreadyPublished

  /// The status of the response to ANNOUNCE.
  var status: RTSPStatus {
    switch self {
    case .otherSource: .forbidden
    case .alreadyPublished: .serviceUnavailable
    }
  }
}

/// A stream that the client sends: what it has announced, and what it has set up.
struct RTSPPublication: Hashable {
  let announcement: RTSPAnnouncement
  var tracks: RTSPSessionTracks

  init(_ announcement: RTSPAnnouncement, sessionID: String) {
    self.announcement = announcement
    self.tracks = RTSPSessionTracks(
      id: sessionID,
      stream: RTSPStreamDescription(
        name: announcement.streamName, sessionDescription: "",
        tracks: announcement.tracks.map { .init(kind: $0.format?.kind ?? .video, control: $0.control, ssrc: 0) }))
  }

  /// The tracks to receive.
  var recording: RTSPRecording {
    RTSPRecording(
      streamName: self.announcement.streamName,
      tracks: self.tracks.tracks.map { .init(index: $0.index, transport: $0.transport) })
  }
}
