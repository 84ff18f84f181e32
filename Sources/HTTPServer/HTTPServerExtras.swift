public import NIOCore
public import Streaming

/// What an ``HTTPServer`` serves that others make: the web page, QR codes, and what other servers know of the streams.
public struct HTTPServerExtras: Sendable {
  /// A file that is part of the program.
  public struct File: Hashable, Sendable {
    /// The bytes, shared by all who ask.
    public var body: ByteBuffer
    /// The value of `Content-Type`.
    public var mediaType: String
    /// The value of `ETag`, quotes included; another one for other bytes.
    public var etag: String
    /// Whether another file never has this path, so that caches may keep it for ever.
    public var isImmutable: Bool

    /// A file.
    public init(body: ByteBuffer, mediaType: String, etag: String, isImmutable: Bool = false) {
      self.body = body
      self.mediaType = mediaType
      self.etag = etag
      self.isImmutable = isImmutable
    }
  }

  /// What is seen of the web site.
  public enum Page: Hashable, Sendable {
    /// The list of streams, at `/`.
    case list
    /// The page of one stream, at `/NAME`.
    case stream
    /// Another file, at `/assets/` and this path, percent-decoded.
    case asset(String)
  }

  /// The addresses of a stream to show to users.
  public struct Addresses: Hashable, Sendable {
    /// `rtsp://HOST:PORT/NAME`, and `rtsps:`.
    public var rtsp: [String]
    /// `http://HOST:PORT/NAME`, and `https:`.
    public var http: [String]

    /// The addresses of a stream.
    public init(rtsp: [String] = [], http: [String] = []) {
      self.rtsp = rtsp
      self.http = http
    }
  }

  /// What another server did for a stream.
  public struct ProtocolStatistics: Hashable, Sendable {
    /// The protocol's name in small letters, such as `rtsp`.
    public var name: String
    /// Viewers now.
    public var viewers: Int
    /// Bytes sent to them since the start.
    public var bytesSent: Int
    /// Pictures not sent to viewers that read too slowly.
    public var picturesSkipped: Int

    /// What a server did.
    public init(name: String, viewers: Int = 0, bytesSent: Int = 0, picturesSkipped: Int = 0) {
      self.name = name
      self.viewers = viewers
      self.bytesSent = bytesSent
      self.picturesSkipped = picturesSkipped
    }
  }

  /// A file of the web site; nil when there is none.
  public var file: @Sendable (Page) -> File? = { _ in nil }
  /// An SVG document with the QR code of a text; nil when it does not fit.
  public var qrCode: @Sendable (String) -> String? = { _ in nil }
  /// The addresses of a stream to show to users.
  public var addresses: @Sendable (LiveStream) -> Addresses = { _ in Addresses() }
  /// What the servers of other protocols did for a stream.
  public var statistics: @Sendable (LiveStream) -> [ProtocolStatistics] = { _ in [] }

  /// Nothing.
  public init() {}
}
