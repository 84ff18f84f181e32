internal import Discovery
internal import HTTPServer
internal import RTSPServer
internal import StreamControl
internal import Streaming
internal import WebPage

extension HTTPServerProviders {
  /// Creates the providers of a ``CameraServer``: the web page, QR codes, the addresses of all protocols, the counters
  /// of RTSP, and the controls of each stream.
  init(
    rtsp: RTSPServer, addresses: @escaping @Sendable (LiveStream) -> StreamAddresses,
    controls: @escaping @Sendable (LiveStream) -> StreamControls, catalog: SourceCatalog
  ) {
    self.init()
    self.file = { page in
      let file =
        switch page {
        case .list: WebPage.list
        case .player: WebPage.player
        case .recordings: WebPage.recordings
        case .file(let path): WebPage.file(path)
        }
      return file.map { file in
        File(
          body: file.bytes, mediaType: file.mediaType, etag: file.entityTag, cacheControl: WebPage.cacheControl,
          contentSecurityPolicy: WebPage.contentSecurityPolicy)
      }
    }
    self.qrCode = { try? QRCode($0).svg }  // Fails for a text that is too long, which the response reports.
    self.addresses = { stream in
      let addresses = addresses(stream)
      return Addresses(rtsp: addresses.rtsp, http: addresses.page)
    }
    self.statistics = { [ProtocolStatistics(rtsp.statistics(of: $0))] }
    self.renditionStatistics = { [ProtocolStatistics(rtsp.statistics(of: $0))] }
    self.controls = controls
    self.catalog = catalog
  }
}

extension HTTPServerProviders.ProtocolStatistics {
  fileprivate init(_ statistics: RTSPStreamStatistics) {
    self.init(
      name: "rtsp", viewers: statistics.viewers, bytesSent: statistics.bytesSent,
      framesSkipped: statistics.framesSkipped, loopLag: statistics.loopLag,
      udpSendBufferLength: statistics.udpSendBufferLength)
  }
}
