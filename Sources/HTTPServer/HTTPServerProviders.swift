package import Connections
package import Media
package import NIOCore
package import StreamControl
package import Streaming

/// Closures through which an ``HTTPServer`` reads data of its owner: page files, QR codes, addresses, counters of other
/// protocols, and the controls of each stream.
package struct HTTPServerProviders: Sendable {
  /// A file of the web page.
  package struct File: Sendable {
    /// The bytes, shared by all responses.
    package var body: ByteBuffer
    /// The value of `Content-Type`.
    package var mediaType: String
    /// The value of `ETag` with quotes; changes with the bytes.
    package var etag: String
    /// The value of `Cache-Control`.
    package var cacheControl: String
    /// The value of `Content-Security-Policy`; empty for none.
    package var contentSecurityPolicy: String

    /// Creates a file; the texts are values of header fields.
    package init(
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

  /// A part of the web page.
  package enum Page: Hashable, Sendable {
    /// The list of streams, at `/`.
    case list
    /// The page of a stream, at `/NAME`; the same for every stream, published or not.
    case player
    /// The list of recorded files, at `/recordings/`.
    case recordings
    /// Any other file, by its path with the first slash; served below `/_page/`.
    case file(String)
  }

  /// The addresses of a stream to show to users.
  package struct Addresses: Hashable, Sendable {
    /// `rtsp://HOST:PORT/NAME`, and `rtsps:`.
    package var rtsp: [String]
    /// `rtmp://HOST:PORT/live/NAME`, and `rtmps:`; empty when RTMP is off.
    package var rtmp: [String]
    /// `http://HOST:PORT/NAME`, and `https:`.
    package var http: [String]

    /// Creates a set of addresses, as complete URLs.
    package init(rtsp: [String] = [], rtmp: [String] = [], http: [String] = []) {
      self.rtsp = rtsp
      self.rtmp = rtmp
      self.http = http
    }
  }

  /// Counters of another protocol for one stream.
  package struct ProtocolStatistics: Hashable, Sendable {
    /// The protocol's name in lower case, such as `rtsp`.
    package var name: String
    /// Current number of viewers.
    package var viewers: Int
    /// Bytes sent since the start.
    package var bytesSent: Int
    /// Frames not sent to viewers that read too slowly.
    package var framesSkipped: Int
    /// Maximum time that packets have waited for an event loop, in the last 10 to 20 s.
    package var loopLag: MediaDuration
    /// Granted length of the send buffer for UDP, in bytes; nil without UDP.
    package var udpSendBufferLength: Int?

    /// Creates counters since the start of the protocol's server; zero by default.
    package init(
      name: String, viewers: Int = 0, bytesSent: Int = 0, framesSkipped: Int = 0, loopLag: MediaDuration = .zero,
      udpSendBufferLength: Int? = nil
    ) {
      self.name = name
      self.viewers = viewers
      self.bytesSent = bytesSent
      self.framesSkipped = framesSkipped
      self.loopLag = loopLag
      self.udpSendBufferLength = udpSendBufferLength
    }
  }

  /// Returns a file of the web page; nil for an unknown one.
  package var file: @Sendable (Page) -> File? = { _ in nil }
  /// Encodes a text as an SVG QR code, nil for a text that is too long; nil where there are no QR codes.
  package var qrCode: (@Sendable (String) -> String?)?
  /// Returns the addresses of a stream.
  package var addresses: @Sendable (LiveStream) -> Addresses = { _ in Addresses() }
  /// Returns the counters of other protocols for a stream.
  package var statistics: @Sendable (LiveStream) -> [ProtocolStatistics] = { _ in [] }
  /// Returns the counters of other protocols for a rendition; they are among those of its stream.
  package var renditionStatistics: @Sendable (StreamRendition) -> [ProtocolStatistics] = { _ in [] }
  /// Returns what can be changed of a stream.
  package var controls: @Sendable (LiveStream) -> StreamControls = { _ in StreamControls() }
  /// The sessions of WebRTC viewers; nil where WebRTC is off.
  package var whep: (any WHEPService)?
  /// The sources to list at `/api/devices`; nil where there are none.
  package var catalog: SourceCatalog?

  /// Creates providers without page, QR codes, addresses, counters and controls.
  package init() {}
}
