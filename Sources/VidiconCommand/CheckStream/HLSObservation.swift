import HLS
import Media

/// Facts about an HLS stream that was requested for some seconds. Times are in seconds.
struct HLSObservation: Equatable, Sendable {
  /// A resource of the stream.
  struct Resource: Equatable, Sendable {
    /// Last component of its path.
    var name: String
    /// Status of HTTP; nil without a response.
    var status: Int?
    /// Reason for there being no response; nil with one, and for one that was not requested.
    var failure: ConnectionFailure?
    var contentType: String?
    /// Whether pages of other servers may read it.
    var allowsOtherOrigins = false
    /// Time from the request to the end of the response.
    var seconds = 0.0
    var byteCount = 0
    /// Reason for the end of the response.
    var ending = HTTPResult.Ending.complete

    /// Whether the server has delivered it.
    var isDelivered: Bool { self.status == 200 || self.status == 206 }
  }

  /// A segment.
  struct Segment: Equatable, Sendable {
    var resource: Resource
    /// `EXTINF`.
    var duration: Double
    /// Whether it starts with a keyframe; nil where that is not known.
    var startsWithKeyframe: Bool?
  }

  /// Rendition that has the audio of the first variant.
  struct Audio: Equatable, Sendable {
    /// Name for people.
    var name: String
    /// Media playlist of the rendition.
    var playlist: Resource
    /// Whether that can be parsed, and has segments.
    var hasSegments = false
    /// Last segment of the playlist; nil where that was not requested.
    var segment: Resource?

    /// Resources that were requested.
    var resources: [Resource] { [self.playlist] + (self.segment.map { [$0] } ?? []) }
  }

  /// Whether the address has TLS.
  var isEncrypted = false
  /// Protocol chosen by ALPN; nil without one.
  var negotiatedProtocol: String?
  /// Playlists in the order of their requests: the multivariant one, if any, and the media playlist.
  var playlists: [Resource] = []
  /// The reason for which a playlist cannot be parsed; nil where all can.
  var playlistError: ParsingError?
  /// `CODECS` of the first variant; nil without it.
  var codecs: String?
  /// Number of variants; 0 for a media playlist.
  var variantCount = 0
  /// Media playlist of the first variant; nil without one.
  var media: HLSPlaylistDocument?
  /// Rules that a playlist breaks, and that a later version breaks.
  var violations: [String] = []
  var segments: [Segment] = []
  /// Resources without which segments cannot be decoded: initialization sections.
  var initializations: [Resource] = []
  /// Keys of the segments that were loaded, as far as they are at an address of HTTP.
  var keys: [Resource] = []
  /// Rendition with the audio; nil where the segments have it, or the check had no time for it.
  var audio: Audio?
  /// Time between the first and the last request for the media playlist; nil with one.
  var reloadSpan: Double?
  /// Whether the last response has a later segment, or more parts, than the first.
  var hasAdvanced = false
}
