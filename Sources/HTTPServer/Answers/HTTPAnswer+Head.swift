internal import HTTPTypes
internal import NIOCore

extension HTTPAnswer {
  /// What is the same for every request.
  struct Context: Sendable {
    /// The value of `Date`.
    var date: String
    /// Whether answers are for those with a password only.
    var isPrivate: Bool
    /// Compresses a body with this tag; nil where it would not be shorter.
    var compress: @Sendable (ByteBuffer, _ etag: String?) -> ByteBuffer?
  }

  /// The name in the `Server` field.
  static let serverName = "Vidicon"
  /// Shorter text is not worth compressing: it fits one packet anyway.
  static let leastToCompress = 512

  /// What goes on the wire: not what the client has already, only the range that it wants, compressed if it likes, and no
  /// body for HEAD.
  func finished(for request: HTTPRequest, _ context: Context) -> HTTPAnswer {
    var answer = self
    answer.fields[.server] = Self.serverName
    answer.fields[.date] = context.date
    answer.fields[.accessControlAllowOrigin] = "*"
    answer.fields[.accessControlExposeHeaders] = "Accept-Ranges, Age, Content-Length, Content-Range, Date, ETag"
    answer.fields[.xContentTypeOptions] = "nosniff"
    if self.isCompressible { answer.fields[.vary] = "Accept-Encoding" }
    if let etag { answer.fields[.eTag] = etag }
    if self.status == .ok, let etag, let held = EntityTag.match(request.headerFields[.ifNoneMatch], etag) {
      answer.status = .notModified
      answer.body = .empty
      answer.fields[.contentType] = nil
      answer.fields[.eTag] = held
    } else {
      answer.selectRange(for: request)
      answer.compress(for: request, context)
      switch answer.body {
      case .bytes(let bytes): answer.fields[.contentLength] = String(bytes.readableBytes)
      case .empty where answer.status != .noContent: answer.fields[.contentLength] = "0"
      case .empty, .pictures: break
      }
    }
    // Of what it is now: a range that is refused is not kept for as long as the file.
    answer.fields[.cacheControl] = answer.caching.text(isPrivate: context.isPrivate)
    if request.method == .head { answer.body = .empty }
    return answer
  }

  private mutating func selectRange(for request: HTTPRequest) {
    guard self.hasRanges, self.status == .ok, case .bytes(let bytes) = self.body else { return }
    self.fields[.acceptRanges] = "bytes"
    if let condition = request.headerFields[.ifRange], condition != self.etag { return }
    guard request.method == .get else { return }
    let length = bytes.readableBytes
    switch ByteRange(parsing: request.headerFields[.range], length: length) {
    case .whole: return
    case .part(let range):
      guard let slice = bytes.getSlice(at: bytes.readerIndex + range.lowerBound, length: range.count) else { return }
      self.status = .partialContent
      self.fields[.contentRange] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(length)"
      self.body = .bytes(slice)
    case .unsatisfiable:
      self = .text(.rangeNotSatisfiable, "there are only \(length) bytes", self.fields)
      self.fields[.contentRange] = "bytes */\(length)"
    }
  }

  private mutating func compress(for request: HTTPRequest, _ context: Context) {
    guard self.isCompressible, case .bytes(let bytes) = self.body, bytes.readableBytes >= Self.leastToCompress,
      ContentCoding.acceptsGzip(request.headerFields[.acceptEncoding]),
      let compressed = context.compress(bytes, self.etag)
    else { return }
    self.body = .bytes(compressed)
    self.fields[.contentEncoding] = "gzip"
    if let etag { self.fields[.eTag] = EntityTag.gzipped(etag) }
  }
}
