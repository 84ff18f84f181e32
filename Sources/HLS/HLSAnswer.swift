public import Media
public import NIOCore

/// What becomes of a request.
public enum HLSAnswer: Hashable, Sendable {
  /// 200, with this.
  case content(HLSContent)
  /// Not yet: ask again with the same request whenever ``HLSEffects/wakesRequests`` says so, and at this time.
  case wait(until: MediaTime)
  /// 404: there is no such file, no longer, or not yet.
  case notFound
  /// 400, with the reason in one line.
  case badRequest(String)
  /// 503: what was waited for has not come in time.
  case unavailable
}

/// A file: shared bytes, and what HTTP tells of them.
public struct HLSContent: Hashable, Sendable {
  /// How long caches may keep a file.
  public enum Caching: Hashable, Sendable {
    /// For ever: another file never has this name.
    case immutable
    /// For a short time: a playlist as it is now. Half a target duration is the draft's advice.
    case short(MediaDuration)
    /// For a while: the answer to a playlist request with `_HLS_msn`, whose address already says how new it is at
    /// least. Six target durations are the draft's advice.
    case blocking(MediaDuration)
  }

  /// The bytes, built once and shared by all who ask.
  public var body: ByteBuffer
  /// The value of `Content-Type`.
  public var mediaType: String
  /// How long caches may keep it.
  public var caching: Caching
  /// The value of `ETag`, quotes included; another one for other bytes.
  public var etag: String

  /// `application/vnd.apple.mpegurl`, RFC 8216 §4: playlists, which are text and worth compressing.
  public static let playlistType = "application/vnd.apple.mpegurl"
  /// `video/mp2t`, RFC 3555 §4.2.9: MPEG-TS segments.
  public static let transportStreamType = "video/mp2t"
  /// `video/mp4`, RFC 4337: fMP4 segments, parts and initialization segments.
  public static let mp4Type = "video/mp4"
  /// `audio/mp4`, RFC 4337: the same without pictures.
  public static let audioMP4Type = "audio/mp4"

  /// Whether it is a playlist.
  public var isPlaylist: Bool { self.mediaType == Self.playlistType }
}
