internal import HLSServer
internal import Media
internal import Serving
internal import Streaming

extension StreamEntry {
  /// Describes a served stream to a client, without the client's rights and what can be changed.
  init(_ served: ServedStream, providers: WebServerProviders, at now: MediaTime) {
    let stream = served.stream
    let path = stream.path
    let addresses = providers.addresses(stream)
    self.init(stream, servedSince: served.servedSince)
    self.whep = providers.whep.map { _ in "\(path)/whep" }
    if let publisher = providers.publisher(stream) {
      self.whip = "\(path)/whip"
      self.publisher = PublisherEntry(publisher)
    }
    self.rtsp = addresses.rtsp
    self.rtmp = addresses.rtmp
    self.http = addresses.page
    self.renditions = stream.renditions.compactMap {
      RenditionEntry($0, of: served, providers: providers, addresses: addresses, at: now)
    }
    let protocols = providers.statistics(stream)
    self.viewers = served.viewers(with: protocols, at: now)
    for other in protocols {
      self.loopLag = max(self.loopLag, (other.statistics.loopLag.seconds * 1000).rounded() / 1000)
      if let list = other.statistics.viewerList {
        self.webrtcViewers = list.prefix(ViewerEntry.maximumCount).map(ViewerEntry.init)
      }
    }
  }
}

extension RenditionEntry {
  /// Describes a rendition of a served stream, with its addresses.
  ///
  /// - Returns: Nil for the main one.
  fileprivate init?(
    _ rendition: Rendition, of served: ServedStream, providers: WebServerProviders,
    addresses: StreamAddresses, at now: MediaTime
  ) {
    var viewers = ["rtsp": 0, "hls": served.hlsViewers(of: rendition.name, at: now)]
    for other in providers.renditionStatistics(rendition) { viewers[other.name] = other.statistics.viewers }
    self.init(rendition, viewers: viewers)
    let path = rendition.path
    self.hls = "\(path)/live.m3u8"
    self.snapshot = "\(path)/snapshot.jpg"
    self.rtsp = addresses.rtsp.map { "\($0)/\(rendition.name)" }
    self.rtmp = addresses.rtmp.map { "\($0)/\(rendition.name)" }
  }
}

extension ServedStream {
  /// Current viewers by protocol, with those of other protocols.
  func viewers(with others: [WebServerProviders.ProtocolStatistics], at now: MediaTime) -> [String: Int] {
    var viewers = ["rtsp": 0, "hls": self.viewers(of: .hls, at: now), "mjpeg": self.viewers(of: .mjpeg, at: now)]
    for other in others { viewers[other.name] = other.statistics.viewers }
    return viewers
  }
}
