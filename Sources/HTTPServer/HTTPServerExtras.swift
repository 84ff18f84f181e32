public import NIOCore
public import Streaming

/// What an ``HTTPServer`` serves that others make: the web page, QR codes, and what other servers know of the streams.
public struct HTTPServerExtras: Sendable {
  /// A file of the web page.
  public struct File: Sendable {
    /// The bytes, shared by all who ask.
    public var body: ByteBuffer
    /// The value of `Content-Type`.
    public var mediaType: String
    /// The value of `ETag`, quotes included; another one for other bytes.
    public var etag: String
    /// The value of `Cache-Control`.
    public var cacheControl: String
    /// The value of `Content-Security-Policy`; empty for none.
    public var contentSecurityPolicy: String

    /// A file.
    public init(
      body: ByteBuffer, mediaType: String, etag: String, cacheControl: String = "no-cache",
      contentSecurityPolicy: String = ""
    ) {
      self.body = body
      self.mediaType = mediaType
      self.etag = etag
      self.cacheControl = cacheControl
      self.contentSecurityPolicy = contentSecurityPolicy
    }
  }

  /// What is seen of the web page.
  public enum Page: Hashable, Sendable {
    /// The list of streams, at `/`.
    case list
    /// The page of a stream, at `/NAME`: the same for all, also for one that is not there (yet).
    case player
    /// The list of recorded files, at `/recordings/`.
    case recordings
    /// Another file, by its path with the first slash: what lies below `/_page/`.
    case file(String)
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

  /// A file of the web page; nil when there is none.
  public var file: @Sendable (Page) -> File? = { _ in nil }
  /// Makes an SVG document with the QR code of a text, nil of one that does not fit; nil where there are no QR codes.
  public var qrCode: (@Sendable (String) -> String?)?
  /// The addresses of a stream to show to users.
  public var addresses: @Sendable (LiveStream) -> Addresses = { _ in Addresses() }
  /// What the servers of other protocols did for a stream.
  public var statistics: @Sendable (LiveStream) -> [ProtocolStatistics] = { _ in [] }
  /// The recorder of a stream; nil where it is not recorded.
  public var recorder: @Sendable (LiveStream) -> HTTPServerRecorder? = { _ in nil }
  /// What can be changed of a stream; nil where nothing can.
  public var control: @Sendable (LiveStream) -> HTTPServerControl? = { _ in nil }
  /// What is done to the streams' pictures, and how that is changed; nil where it cannot be.
  public var effects: (any HTTPServerEffects)?
  /// What sources can be chosen from; nil where none can.
  public var devices: HTTPServerDevices?

  /// Nothing.
  public init() {}
}
