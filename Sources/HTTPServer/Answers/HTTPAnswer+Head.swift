internal import HTTPTypes
internal import Media
internal import NIOCore

extension HTTPAnswer {
  /// What is the same for every request.
  struct Context: Sendable {
    /// The value of `Date`.
    var date: String
    /// The same, in seconds since 1970.
    var unixSeconds: Int64
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
    if self.isForSameOrigin {
      // Not even in a page's element, Fetch §3.7.
      answer.fields[.crossOriginResourcePolicy] = "same-origin"
    } else {
      answer.fields[.accessControlAllowOrigin] = "*"
      answer.fields[.accessControlExposeHeaders] = "Accept-Ranges, Age, Content-Length, Content-Range, Date, ETag"
    }
    answer.fields[.xContentTypeOptions] = "nosniff"
    if self.isCompressible { answer.fields[.vary] = "Accept-Encoding" }
    if let etag { answer.fields[.eTag] = etag }
    if let lastModified { answer.fields[.lastModified] = CalendarTime(unixTime: .seconds(lastModified)).httpDate }
    if self.status == .ok, let etag, let held = EntityTag.match(request.headerFields[.ifNoneMatch], etag) {
      answer.becomeNotModified()
      answer.fields[.eTag] = held
    } else if answer.isSince(request.headerFields) {
      answer.becomeNotModified()
    } else {
      answer.selectRange(for: request, at: context.unixSeconds)
      answer.compress(for: request, context)
      switch answer.body {
      case .bytes(let bytes): answer.fields[.contentLength] = String(bytes.readableBytes)
      case .file(_, let range): answer.fields[.contentLength] = String(range.count)
      case .empty where answer.status != .noContent: answer.fields[.contentLength] = "0"
      case .empty, .pictures, .events: break
      }
    }
    // Of what it is now: a range that is refused is not kept for as long as the file.
    answer.fields[.cacheControl] = answer.caching.text(isPrivate: context.isPrivate)
    if request.method == .head { answer.body = .empty }
    return answer
  }

  /// What the client has still holds.
  private mutating func becomeNotModified() {
    self.status = .notModified
    self.body = .empty
    self.fields[.contentType] = nil
  }

  /// Whether the client has what was changed last, by the date, which counts where it tells no tag: RFC 9110 §13.1.3.
  private func isSince(_ request: HTTPFields) -> Bool {
    self.status == .ok && request[.ifNoneMatch] == nil && self.fields[.lastModified] != nil
      && request[.ifModifiedSince] == self.fields[.lastModified]
  }

  private mutating func selectRange(for request: HTTPRequest, at unixSeconds: Int64) {
    guard self.hasRanges, self.status == .ok else { return }
    let length: Int
    switch self.body {
    case .bytes(let bytes): length = bytes.readableBytes
    case .file(_, let range): length = range.count
    case .empty, .pictures, .events: return
    }
    self.fields[.acceptRanges] = "bytes"
    if let condition = request.headerFields[.ifRange], condition != self.etag {
      // There can be two versions of one second, so that a date is proof only when that has passed, RFC 9110 §8.8.2.2.
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
      case .empty, .pictures, .events: return
      }
      self.status = .partialContent
      self.fields[.contentRange] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(length)"
    case .unsatisfiable:
      self = .text(.rangeNotSatisfiable, "there are only \(length) bytes", self.fields)
      self.fields[.contentRange] = "bytes */\(length)"
      self.fields[.contentDisposition] = nil
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
