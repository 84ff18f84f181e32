internal import Authentication
internal import HTTPTypes
internal import Media
package import NIOCore

extension ServerResponse {
  /// Inputs of ``finished(for:_:)`` that do not depend on the request.
  struct Context: Sendable {
    /// The value of `Date`.
    var date: String
    /// The same time in seconds since 1970.
    var unixSeconds: Int64
    /// Whether a password is required or credentials were sent, so that shared caches must not store the response.
    var isPrivate: Bool
    /// Sites whose pages may read media.
    var originPolicy = OriginPolicy()
    /// Compresses a body with an entity tag; nil when the result would not be shorter.
    var compress: @Sendable (ByteBuffer, _ etag: String?) -> ByteBuffer?
  }

  /// The value of `Server`.
  static let serverName = "Vidicon"
  /// Minimum size of a compressed body in bytes: shorter ones fit into one packet uncompressed.
  static let minimumCompressibleBytes = 512

  /// Applies the request's conditions (304), range (206, 416), content coding and method (HEAD), and adds the fields of
  /// every response.
  func finished(for request: HTTPRequest, _ context: Context) -> ServerResponse {
    var response = self
    response.fields[.server] = Self.serverName
    response.fields[.date] = context.date
    response.fields[.xContentTypeOptions] = "nosniff"
    if self.isCompressible {
      response.fields[.vary] = [self.fields[.vary], "Accept-Encoding"].compactMap(\.self).joined(separator: ", ")
    }
    self.sharing.add(to: &response.fields, origin: request.headerFields[.origin], policy: context.originPolicy)
    if let etag { response.fields[.eTag] = etag }
    if let lastModified { response.fields[.lastModified] = CalendarTime(unixTime: .seconds(lastModified)).httpDate }
    if self.status == .ok, let etag, let held = EntityTag.match(request.headerFields[.ifNoneMatch], etag) {
      response.becomeNotModified()
      response.fields[.eTag] = held
    } else if response.isUnmodified(request.headerFields) {
      response.becomeNotModified()
    } else {
      response.selectRange(for: request, at: context.unixSeconds)
      response.compress(for: request, context)
      switch response.body {
      case .bytes(let bytes): response.fields[.contentLength] = String(bytes.readableBytes)
      case .file(_, let range): response.fields[.contentLength] = String(range.count)
      case .empty where response.status != .noContent: response.fields[.contentLength] = "0"
      case .empty, .streamed: break
      }
    }
    // Of the final status: 416 is not cached for as long as the file.
    response.fields[.cacheControl] = response.caching.text(isPrivate: context.isPrivate)
    if request.method == .head { response.body = .empty }
    return response
  }

  /// Turns the response into 304.
  private mutating func becomeNotModified() {
    self.status = .notModified
    self.body = .empty
    self.fields[.contentType] = nil
  }

  /// Whether `If-Modified-Since` is the time of the last change; ignored beside `If-None-Match`, RFC 9110 §13.1.3.
  private func isUnmodified(_ request: HTTPFields) -> Bool {
    self.status == .ok && request[.ifNoneMatch] == nil && self.fields[.lastModified] != nil
      && request[.ifModifiedSince] == self.fields[.lastModified]
  }

  private mutating func selectRange(for request: HTTPRequest, at unixSeconds: Int64) {
    guard self.hasRanges, self.status == .ok else { return }
    let length: Int
    switch self.body {
    case .bytes(let bytes): length = bytes.readableBytes
    case .file(_, let range): length = range.count
    case .empty, .streamed: return
    }
    self.fields[.acceptRanges] = "bytes"
    if let condition = request.headerFields[.ifRange], condition != self.etag {
      // A date is a strong validator only when more than a second old, RFC 9110 §8.8.2.2.
      guard let lastModified, lastModified < unixSeconds - 1, condition == self.fields[.lastModified] else { return }
    }
    guard request.method == .get else { return }
    switch ByteRange(parsing: request.headerFields[.range], length: length) {
    case .whole: return
    case .part(let range):
      switch self.body {
      case .bytes(let bytes):
        guard let slice = bytes.getSlice(at: bytes.readerIndex + range.lowerBound, length: range.count) else { return }
        self.body = .bytes(slice)
      case .file(let file, let whole):
        self.body = .file(file, whole.lowerBound + range.lowerBound..<whole.lowerBound + range.upperBound)
      case .empty, .streamed: return
      }
      self.status = .partialContent
      self.fields[.contentRange] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(length)"
    case .unsatisfiable:
      self = .text(.rangeNotSatisfiable, "the file has only \(length) bytes", self.fields)
      self.fields[.contentRange] = "bytes */\(length)"
      self.fields[.contentDisposition] = nil
    }
  }

  private mutating func compress(for request: HTTPRequest, _ context: Context) {
    guard self.isCompressible, case .bytes(let bytes) = self.body, bytes.readableBytes >= Self.minimumCompressibleBytes,
      ContentCoding.acceptsGzip(request.headerFields[.acceptEncoding]),
      let compressed = context.compress(bytes, self.etag)
    else { return }
    self.body = .bytes(compressed)
    self.fields[.contentEncoding] = "gzip"
    if let etag { self.fields[.eTag] = EntityTag.gzipped(etag) }
  }
}

extension ServerResponse {
  /// The status line and the fields as HTTP/1.1 sends them, RFC 9112 §4 and §5; those of a finished response have the length of
  /// the body.
  package func serializeHead() -> ByteBuffer {
    var head = ByteBuffer()
    head.writeString("HTTP/1.1 \(self.status.code) \(self.status.reasonPhrase)\r\n")
    for field in self.fields { head.writeString("\(field.name.rawName): \(field.value)\r\n") }
    head.writeString("\r\n")
    return head
  }
}
