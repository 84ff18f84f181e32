internal import Authentication
internal import HLS
internal import HTTPTypes
internal import Media
internal import NIOCore
internal import Threading

extension HTTPResponder {
  /// Responds to a plain GET for a file of HLS that is available; nil for other requests, which leave no trace.
  ///
  /// Only where watching needs no login. The response is the one that ``finish(_:for:)`` would make.
  func preparedResponse(to request: HTTPRequest, client: HTTPClient) -> ServerResponse? {
    guard let key = PreparedResponses.Key(request), let target = self.target(for: key, request),
      let stream = target.stream
    else { return nil }
    let now = self.clock.now()
    var hlsRequest = target.request
    hlsRequest.arrival = now
    let transfer = stream.hls.transfers.transfer()
    guard case .content(let content)? = stream.hls.respondAtOnce(to: hlsRequest) else { return nil }
    let address = client.effectiveAddress(of: request, proxies: self.access.settings.proxies)
    let userAgent = request.headerFields[.userAgent] ?? ""
    stream.noteHLSRequest(of: nil, address: address, userAgent: userAgent, at: now)
    if hlsRequest.isMediaPlaylist { stream.noteHLSPlaylist(address: address, userAgent: userAgent, at: now) }
    stream.countBytes(content.body.readableBytes, of: .hls)
    var response = self.response(content, target, request, unixNanoseconds: self.clock.unixTime(at: now))
    if case .empty = response.body { response.body = .bytes(content.body) }
    if !content.isPlaylist { response.transfer = transfer }
    self.counters.count(response.status)
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
    response = self.uncounted(response, for: request, unixNanoseconds: unixNanoseconds)
    response.serializedHead = response.serializeHead()
    if response.fields[.contentEncoding] == nil { response.body = .empty }
    self.prepared.insert(response, for: variant, second: second)
    return response
  }

  private func target(for key: PreparedResponses.Key, _ request: HTTPRequest) -> PreparedResponses.Target? {
    let version = self.streams.version
    if let target = self.prepared.target(for: key, version: version) { return target }
    guard !Self.hasCredentials(request), let host = Authority(parsing: key.authority),
      self.access.hostPolicy.allows(host),
      let target = try? HTTPTarget(parsing: key.path), !target.hasTrailingSlash,
      case let route = HTTPRoute(target.components, names: self.streams.names, renditions: self.streams.renditions),
      case .file(let file, let name) = route, let stream = self.streams[hls: name],
      let hlsRequest = HLSRequest(file: file, query: target.query, arrival: self.clock.now()),
      !hlsRequest.isMultivariantPlaylist
    else { return nil }
    let prepared = PreparedResponses.Target(
      stream: stream, request: hlsRequest, sharing: self.sharing(of: route),
      acceptsGzip: ContentCoding.acceptsGzip(key.acceptEncoding))
    self.prepared.insert(prepared, for: key, version: version)
    return prepared
  }
}

extension ServerResponse {
  /// The status line and the fields as HTTP/1.1 sends them, RFC 9112 §4 and §5; those of a finished response have the length of
  /// the body.
  func serializeHead() -> ByteBuffer {
    var head = ByteBuffer()
    head.writeString("HTTP/1.1 \(self.status.code) \(self.status.reasonPhrase)\r\n")
    for field in self.fields { head.writeString("\(field.name.rawName): \(field.value)\r\n") }
    head.writeString("\r\n")
    return head
  }
}
