public import Media
public import NIOCore

/// Response to a request for one of a stream's files.
public enum HLSResponse: Hashable, Sendable {
  /// 200 with a file.
  case content(HLSContent)
  /// The file does not exist yet: repeat the request at this time, or when ``HLSEffects/wakesRequests`` is set.
  case wait(until: MediaTime)
  /// 404: the file never existed, has expired, or does not exist yet.
  case notFound
  /// 410: the file existed, and was discarded for good.
  case gone
  /// 400 with the reason in one line.
  case badRequest(String)
  /// 503: the wait for the file timed out.
  case unavailable
}

/// A file with its HTTP headers; the bytes are shared.
public struct HLSContent: Hashable, Sendable {
  /// Cache lifetime of a file, from which `Cache-Control` is made.
  public enum Caching: Hashable, Sendable {
    /// Unlimited: no other file ever has this name. For initialization segments, which show nothing.
    case immutable
    /// A segment or part: for this time, in shared caches only. No other file ever has its name, but once faces are private
    /// its media must not be shown any more, which no cache learns.
    case media(MediaDuration)
    /// A playlist: half a target duration, as draft-pantos-hls-rfc8216bis recommends.
    case short(MediaDuration)
    /// A playlist requested with `_HLS_msn`, whose URL determines its minimum age: six target durations, as the draft
    /// recommends.
    case blocking(MediaDuration)
  }

  /// Bytes, built once and shared by all responses.
  public var body: ByteBuffer
  /// Value of `Content-Type`: one of the four types below.
  public var mediaType: String
  /// Cache lifetime of the file, for `Cache-Control`.
  public var caching: Caching
  /// Value of `ETag` with quotes; different for different bytes.
  public var etag: String

  /// `application/vnd.apple.mpegurl`, RFC 8216 §4: playlists.
  public static let playlistType = "application/vnd.apple.mpegurl"
  /// `video/mp2t`, RFC 3555 §4.2.9: MPEG-TS segments.
  public static let transportStreamType = "video/mp2t"
  /// `video/mp4`, RFC 4337: fMP4 segments, parts and initialization segments.
  public static let mp4Type = "video/mp4"
  /// `audio/mp4`, RFC 4337: the same without video.
  public static let audioMP4Type = "audio/mp4"

  /// Whether the file is a playlist: text that is worth compressing.
  public var isPlaylist: Bool { self.mediaType == Self.playlistType }
}
