internal import ControlAPI
internal import Discovery
internal import Media
internal import Serving
internal import StreamControl
internal import Streaming
internal import WebPage
internal import WebRTCServer

extension WebServerProviders {
  /// Creates the providers of a ``CameraServer``: the web page, QR codes, the addresses of all protocols, the counters
  /// of all servers, and the controls of each stream.
  init(
    servers: [any StreamServer], webRTC: WebRTCServer?,
    addresses: @escaping @Sendable (LiveStream) -> StreamAddresses,
    controls: @escaping @Sendable (LiveStream) -> StreamControls,
    reload: @escaping @Sendable (_ text: String?) async -> Result<ReloadEntry, VidiconError>?,
    check: @escaping @Sendable () async -> CheckEntry?, catalog: SourceCatalog
  ) {
    self.init()
    self.file = { page in
      let file =
        switch page {
        case .list: WebPage.list
        case .player: WebPage.player
        case .recordings: WebPage.recordings
        case .publish: WebPage.publish
        case .authority: WebPage.authority
        case .file(let path): WebPage.file(path)
        }
      return file.map { file in
        File(
          body: file.bytes, mediaType: file.mediaType, etag: file.entityTag, cacheControl: WebPage.cacheControl,
          contentSecurityPolicy: WebPage.contentSecurityPolicy)
      }
    }
    self.qrCode = { try? QRCode($0).svg }  // Fails for a text that is too long, which the response reports.
    self.addresses = addresses
    self.statistics = { stream in
      servers.map { ProtocolStatistics(name: type(of: $0).protocolName, statistics: $0.statistics(of: stream)) }
    }
    self.renditionStatistics = { rendition in
      servers.map { ProtocolStatistics(name: type(of: $0).protocolName, statistics: $0.statistics(of: rendition)) }
    }
    self.whep = webRTC
    self.whip = webRTC
    self.publisher = { webRTC?.publisherStatistics(of: $0) }
    self.controls = controls
    self.reload = reload
    self.check = check
    self.catalog = catalog
  }
}
