internal import Authentication
internal import HLS
internal import HTTPServer
internal import HTTPTypes
internal import Media
internal import NIOCore
internal import Threading

extension HLSServer {
  /// Responds to a plain GET for a file of HLS that is available; nil for other requests, which leave no trace.
  ///
  /// Only where watching needs no login. The response is the one that ``HTTPPolicy/finish(_:for:)`` would make.
  func preparedResponse(to request: HTTPRequest, client: HTTPClient) -> ServerResponse? {
    guard let key = PreparedResponses.Key(request), let target = self.target(for: key, request),
      let stream = target.stream
    else { return nil }
    let now = self.clock.now()
    var hlsRequest = target.request
    hlsRequest.arrival = now
    let transfer = stream.hls.transfers.transfer()
    guard case .content(let content)? = stream.hls.respondAtOnce(to: hlsRequest) else { return nil }
    let address = client.effectiveAddress(of: request, proxies: self.policy.access.settings.proxies)
    let userAgent = request.headerFields[.userAgent] ?? ""
    stream.noteHLSRequest(of: nil, address: address, userAgent: userAgent, at: now)
    if hlsRequest.isMediaPlaylist { stream.noteHLSPlaylist(address: address, userAgent: userAgent, at: now) }
    stream.countBytes(content.body.readableBytes, of: .hls)
    var response = self.response(content, target, request, unixNanoseconds: self.clock.unixTime(at: now))
    if case .empty = response.body { response.body = .bytes(content.body) }
    if !content.isPlaylist { response.transfer = transfer }
    self.policy.counters.count(response.status)
    return response
  }

  /// The finished response with a file, and its head in bytes; its body is empty unless it is compressed.
  private func response(
    _ content: HLSContent, _ target: PreparedResponses.Target, _ request: HTTPRequest, unixNanoseconds: Int64
  ) -> ServerResponse {
    let variant = PreparedResponses.Variant(
      etag: content.etag, caching: content.caching, acceptsGzip: target.acceptsGzip)
    let second = unixNanoseconds / 1_000_000_000
    if let response = self.prepared.response(for: variant, second: second) { return response }
    var response = ServerResponse(content)
    response.sharing = target.sharing
    response = self.policy.uncounted(response, for: request, unixNanoseconds: unixNanoseconds)
    response.serializedHead = response.serializeHead()
    if response.fields[.contentEncoding] == nil { response.body = .empty }
    self.prepared.insert(response, for: variant, second: second)
    return response
  }

  private func target(for key: PreparedResponses.Key, _ request: HTTPRequest) -> PreparedResponses.Target? {
    let version = self.streams.version
    if let target = self.prepared.target(for: key, version: version) { return target }
    guard !request.hasCredentials, let host = Authority(parsing: key.authority),
      self.policy.access.hostPolicy.allows(host),
      let (stream, _, hlsRequest) = self.file(of: key.path, at: self.clock.now())
    else { return nil }
    let prepared = PreparedResponses.Target(
      stream: stream, request: hlsRequest, sharing: self.policy.sharing(of: .media),
      acceptsGzip: ContentCoding.acceptsGzip(key.acceptEncoding))
    self.prepared.insert(prepared, for: key, version: version)
    return prepared
  }
}
