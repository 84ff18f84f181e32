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
      return Addresses(rtsp: addresses.rtsp, rtmp: addresses.rtmp, http: addresses.page)
    }
    self.statistics = { stream in
      [ProtocolStatistics(rtsp.statistics(of: stream))]
        + (rtmp.map { [ProtocolStatistics($0.statistics(of: stream))] } ?? [])
        + (webRTC.map { [ProtocolStatistics($0.statistics(of: stream))] } ?? [])
    }
    self.renditionStatistics = { rendition in
      [ProtocolStatistics(rtsp.statistics(of: rendition))]
        + (rtmp.map { [ProtocolStatistics($0.statistics(of: rendition))] } ?? [])
        + (webRTC.map { [ProtocolStatistics($0.statistics(of: rendition))] } ?? [])
    }
    self.whep = webRTC
    self.controls = controls
    self.catalog = catalog
  }
}

extension HTTPServerProviders.ProtocolStatistics {
  fileprivate init(_ statistics: WebRTCStreamStatistics) {
    self.init(
      name: "webrtc", viewers: statistics.viewers, bytesSent: statistics.bytesSent,
      framesSkipped: statistics.framesSkipped, loopLag: statistics.loopLag)
  }

  fileprivate init(_ statistics: RTMPStreamStatistics) {
    self.init(
      name: "rtmp", viewers: statistics.viewers, bytesSent: statistics.bytesSent,
      framesSkipped: statistics.framesSkipped, loopLag: statistics.loopLag)
  }

  fileprivate init(_ statistics: RTSPStreamStatistics) {
    self.init(
      name: "rtsp", viewers: statistics.viewers, bytesSent: statistics.bytesSent,
      framesSkipped: statistics.framesSkipped, loopLag: statistics.loopLag,
      udpSendBufferLength: statistics.udpSendBufferLength)
  }
}
