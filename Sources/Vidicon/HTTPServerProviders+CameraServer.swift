internal import Delivery
internal import Discovery
internal import HTTPServer
internal import RTMPServer
internal import RTSPServer
internal import StreamControl
internal import Streaming
internal import WebPage
internal import WebRTCServer

extension HTTPServerProviders {
  /// Creates the providers of a ``CameraServer``: the web page, QR codes, the addresses of all protocols, the counters
  /// of RTSP, RTMP and WebRTC, and the controls of each stream.
  init(
    rtsp: RTSPServer, rtmp: RTMPServer?, webRTC: WebRTCServer?,
    addresses: @escaping @Sendable (LiveStream) -> StreamAddresses,
    controls: @escaping @Sendable (LiveStream) -> StreamControls, catalog: SourceCatalog
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
      Self.statistics(
        rtsp.statistics(of: stream), rtmp: rtmp?.statistics(of: stream),
        webRTC: webRTC?.statistics(of: stream))
    }
    self.renditionStatistics = { rendition in
      Self.statistics(
        rtsp.statistics(of: rendition), rtmp: rtmp?.statistics(of: rendition),
        webRTC: webRTC?.statistics(of: rendition))
    }
    self.whep = webRTC
    self.whip = webRTC
    self.publisher = { webRTC?.publisherStatistics(of: $0) }
    self.controls = controls
    self.catalog = catalog
  }

  /// Counters of RTSP, and of RTMP and WebRTC where they are served.
  private static func statistics(
    _ rtsp: RTSPStreamStatistics, rtmp: DeliveryStatistics?, webRTC: WebRTCStreamStatistics?
  ) -> [ProtocolStatistics] {
    var all = [
      ProtocolStatistics(
        name: "rtsp", delivery: rtsp.delivery,
        datagramsDropped: rtsp.udpSendBufferLength == nil ? nil : rtsp.datagramsDropped,
        udpSendBufferLength: rtsp.udpSendBufferLength)
    ]
    if let rtmp { all.append(ProtocolStatistics(name: "rtmp", delivery: rtmp)) }
    if let webRTC {
      var statistics = ProtocolStatistics(name: "webrtc", delivery: webRTC.delivery)
      statistics.viewerList = webRTC.viewerList
      statistics.sessionsFailed = Dictionary(
        uniqueKeysWithValues: WebRTCSessionFailure.allCases.map { ($0.rawValue, webRTC.sessionsFailed[$0, default: 0]) }
      )
      all.append(statistics)
    }
    return all
  }
}
