package import Media
package import NIOCore
package import Serving
package import StreamControl
package import Streaming

/// Closures through which a ``WebServer`` reads data of its owner: page files, QR codes, addresses, counters of other
/// protocols, and the controls of each stream.
package struct WebServerProviders: Sendable {
  /// A file of the web page.
  package struct File: Sendable {
    /// The bytes, shared by all responses.
    package var body: ByteBuffer
    /// Media type of the bytes, the value of `Content-Type`.
    package var mediaType: String
    /// The value of `ETag` with quotes; changes with the bytes.
    package var etag: String
    /// Rule for caches, the value of `Cache-Control`.
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
    /// The page of a stream, at `/NAME`; the same for every stream, served or not.
    case player
    /// The list of recorded files, at `/recordings/`.
    case recordings
    /// The page at `/NAME/publish` that sends a camera; the same for every stream.
    case publish
    /// The page at `/ca` that says how phones are made to trust the local authority.
    case authority
    /// Any other file, by its path with the first slash; served below `/_page/`.
    case file(String)
  }

  /// Counters of another protocol for one stream.
  package struct ProtocolStatistics: Hashable, Sendable {
    /// The protocol's name in lower case, such as `rtsp`.
    package var name: String
    /// Counters of its viewers.
    package var statistics: ViewerStatistics

    /// Creates counters of a protocol.
    package init(name: String, statistics: ViewerStatistics) {
      self.name = name
      self.statistics = statistics
    }
  }

  /// Returns a file of the web page; nil for an unknown one.
  package var file: @Sendable (Page) -> File? = { _ in nil }
  /// Encodes a text as an SVG QR code, nil for a text that is too long; nil where there are no QR codes.
  package var qrCode: (@Sendable (String) -> String?)?
  /// Returns the addresses of a stream.
  package var addresses: @Sendable (LiveStream) -> StreamAddresses = { _ in StreamAddresses() }
  /// Returns the counters of other protocols for a stream.
  package var statistics: @Sendable (LiveStream) -> [ProtocolStatistics] = { _ in [] }
  /// Returns the counters of other protocols for a rendition; they are among those of its stream.
  package var renditionStatistics: @Sendable (Rendition) -> [ProtocolStatistics] = { _ in [] }
  /// Returns what can be changed of a stream.
  package var controls: @Sendable (LiveStream) -> StreamControls = { _ in StreamControls() }
  /// The sessions of WebRTC viewers; nil where WebRTC is off.
  package var whep: (any WHEPService)?
  /// The sessions of WebRTC publishers; nil where WebRTC is off.
  package var whip: (any WHIPService)?
  /// Returns the counters of a stream's WebRTC publishers; nil for a stream without the source `whip:`.
  package var publisher: @Sendable (LiveStream) -> WebRTCPublisherStatistics? = { _ in nil }
  /// Applies the text of a configuration, or without one that of the program's file, which is read again; returns nil where there is none.
  package var reload: @Sendable (_ text: String?) async -> Result<ReloadEntry, VidiconError>? = { _ in nil }
  /// Checks the machine for what the configuration asks for; returns nil where the program has no check.
  package var check: @Sendable () async -> CheckEntry? = { nil }
  /// The sources to list at `/api/devices`; nil where there are none.
  package var catalog: SourceCatalog?

  /// Creates providers without page, QR codes, addresses, counters and controls.
  package init() {}
}
