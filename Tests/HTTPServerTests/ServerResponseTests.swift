import HLS
import HTTPTypes
import Media
import NIOCore
import Testing

@testable import HLSServer
@testable import HTTPServer

@Suite("Responses, RFC 9110 and RFC 9111")
struct ServerResponseTests {
  static let context = ServerResponse.Context(date: "D", unixSeconds: 1_000, isPrivate: false) { _, _ in
    ByteBuffer(string: "zip")
  }

  static func segment(_ method: HTTPRequest.Method = .get, _ fields: HTTPFields = [:]) -> ServerResponse {
    var response = ServerResponse(
      .ok, [.contentType: "video/mp2t"], body: .bytes(ByteBuffer(string: "0123456789")), caching: .shared(6))
    response.etag = "\"t-1.ts\""
    response.hasRanges = true
    return response.finished(for: Self.request(method, fields), Self.context)
  }

  static func playlist(_ fields: HTTPFields) -> ServerResponse {
    var response = ServerResponse(.ok, body: .bytes(ByteBuffer(repeating: 0x61, count: 512)), caching: .seconds(1))
    response.etag = "\"p\""
    response.isCompressible = true
    return response.finished(for: Self.request(.get, fields), Self.context)
  }

  static func request(_ method: HTTPRequest.Method, _ fields: HTTPFields) -> HTTPRequest {
    HTTPRequest(method: method, scheme: "http", authority: "h", path: "/", headerFields: fields)
  }

  @Test func `a segment has a length and an entity tag, a short life in caches, and is readable by no other origin`() {
    let response = Self.segment()
    #expect(response.status == .ok)
    #expect(response.text == "0123456789")
    #expect(response.fields[.contentLength] == "10")
    #expect(response.fields[.cacheControl] == "public, max-age=1, s-maxage=6")
    #expect(response.fields[.eTag] == "\"t-1.ts\"")
    #expect(response.fields[.acceptRanges] == "bytes")
    #expect(response.fields[.accessControlAllowOrigin] == nil)
    #expect(response.fields[.crossOriginResourcePolicy] == "same-origin")
    #expect(response.fields[.date] == "D")
    #expect(response.fields[.vary] == nil)
  }

  @Test func `HEAD has the same fields and no body`() {
    let response = Self.segment(.head)
    #expect(response.fields == Self.segment().fields)
    #expect(response.text == "")
  }

  @Test(arguments: [
    ("bytes=2-4", "234", "bytes 2-4/10"), ("bytes=8-", "89", "bytes 8-9/10"), ("bytes=-3", "789", "bytes 7-9/10"),
    ("bytes=0-99", "0123456789", "bytes 0-9/10"), ("bytes=-99", "0123456789", "bytes 0-9/10"),
    ("BYTES=9-9", "9", "bytes 9-9/10"),
  ])
  func `a byte range is returned with 206`(range: String, text: String, contentRange: String) {
    let response = Self.segment(.get, [.range: range])
    #expect(response.status == .partialContent)
    #expect(response.text == text)
    #expect(response.fields[.contentRange] == contentRange)
    #expect(response.fields[.contentLength] == String(text.utf8.count))
  }

  @Test(arguments: ["bytes=10-", "bytes=-0", "bytes=99-100"])
  func `a range beyond the end is rejected with 416`(range: String) {
    let response = Self.segment(.get, [.range: range])
    #expect(response.status == .rangeNotSatisfiable)
    #expect(response.fields[.contentRange] == "bytes */10")
    #expect(response.fields[.cacheControl] == "no-store")
  }

  @Test(arguments: [
    "bytes=1-2,4-5", "bytes=4-2", "bytes=a-b", "bytes=", "bytes=-", "lines=1-2", "bytes=99999999999999999999-",
    "bytes=1-99999999999999999999", "bytes=+1-2",
  ])
  func `a malformed or multiple range is ignored`(range: String) {
    #expect(Self.segment(.get, [.range: range]).status == .ok)
    #expect(Self.segment(.get, [.range: range]).text == "0123456789")
  }

  /// RFC 9110 §8.8.2.2. The response is made at 1,000 s.
  @Test(
    arguments: [(997, .partialContent), (998, .partialContent), (999, .ok), (1_000, .ok), (1_001, .ok)]
      as [(Int64, HTTPResponse.Status)])
  func `a date selects a range only when the last change is more than a second old`(
    lastModified: Int64, status: HTTPResponse.Status
  ) {
    var response = ServerResponse(.ok, body: .bytes(ByteBuffer(string: "0123456789")), caching: .immutable)
    response.lastModified = lastModified
    response.hasRanges = true
    let date = CalendarTime(unixTime: .seconds(lastModified)).httpDate
    let request = Self.request(.get, [.range: "bytes=1-2", .ifRange: date])
    #expect(response.finished(for: request, Self.context).status == status)
  }

  @Test func `a range is ignored when If-Range does not match`() {
    #expect(Self.segment(.get, [.range: "bytes=1-2", .ifRange: "\"other\""]).status == .ok)
    #expect(Self.segment(.get, [.range: "bytes=1-2", .ifRange: "\"t-1.ts\""]).status == .partialContent)
  }

  @Test(arguments: [
    ("\"t-1.ts\"", "\"t-1.ts\""), ("W/\"t-1.ts\"", "\"t-1.ts\""), ("\"a\", \"t-1.ts\"", "\"t-1.ts\""),
    ("*", "\"t-1.ts\""), ("\"t-1.ts-gzip\"", "\"t-1.ts-gzip\""),
  ])
  func `a matching If-None-Match gives 304 with the tag of the client`(tags: String, held: String) {
    let response = Self.segment(.get, [.ifNoneMatch: tags, .range: "bytes=1-2"])
    #expect(response.status == .notModified)
    #expect(response.text == "")
    #expect(response.fields[.eTag] == held)
    #expect(response.fields[.cacheControl] == "public, max-age=1, s-maxage=6")
    #expect(response.fields[.contentLength] == nil)
  }

  @Test(arguments: ["\"t-2.ts\"", "t-1.ts", "\"a, t-1.ts\"", ""])
  func `a different If-None-Match gives the content`(tags: String) {
    #expect(Self.segment(.get, [.ifNoneMatch: tags]).status == .ok)
  }

  @Test func `text is compressed on request, with an entity tag of its own`() {
    let plain = Self.playlist([:])
    #expect(plain.fields[.contentLength] == "512")
    #expect(plain.fields[.vary] == "Accept-Encoding")
    let zipped = Self.playlist([.acceptEncoding: "gzip, br"])
    #expect(zipped.text == "zip")
    #expect(zipped.fields[.contentEncoding] == "gzip")
    #expect(zipped.fields[.contentLength] == "3")
    #expect(zipped.fields[.eTag] == "\"p-gzip\"")
    #expect(zipped.fields[.vary] == "Accept-Encoding")
  }

  @Test(arguments: [
    ("gzip", true), ("deflate, GZIP;q=0.5", true), ("*", true), ("*;q=0", false), ("gzip;q=0", false),
    ("gzip;q=0.000", false), ("gzip;q=0.001", true), ("identity, gzip;q=0.5", false), ("br", false), ("", false),
    ("gzip;q=x", false), ("gzip;q=2", false), ("identity;q=0.5, *;q=1", true), ("gzip;q=0, *", false),
    ("gzipped", false),
  ])
  func `gzip is used as Accept-Encoding allows`(value: String, isAccepted: Bool) {
    #expect(ContentCoding.acceptsGzip(value) == isAccepted)
  }

  @Test func `with passwords nothing is stored in shared caches`() {
    for caching in [HTTPCaching.immutable, .seconds(1), .shared(6), .revalidated, .other("no-cache")] {
      #expect(caching.text(isPrivate: true).contains("private"))
    }
    #expect(HTTPCaching.never.text(isPrivate: true) == "no-store")
  }

  @Test func `playlists are cacheable for whole seconds, at least one`() {
    #expect(HTTPCaching(.short(.milliseconds(500))) == .seconds(1))
    #expect(HTTPCaching(.blocking(.seconds(6))) == .seconds(6))
    #expect(HTTPCaching(HLSContent.Caching.immutable) == .immutable)
    #expect(HTTPCaching(.media(.seconds(6))) == .shared(6))
  }

  @Test func `compressed text is gzip, and cached by entity tag`() {
    let text = ByteBuffer(string: String(repeating: "#EXTINF:1.0,\n", count: 100))
    let gzip = Gzip()
    let zipped = gzip.compressed(text, etag: "\"a\"")
    #expect(zipped?.getBytes(at: 0, length: 3) == [0x1f, 0x8b, 8])  // RFC 1952 §2.3.1
    #expect((zipped?.readableBytes ?? 0) < 100)
    #expect(gzip.compressed(ByteBuffer(), etag: "\"a\"") == zipped)
    #expect(gzip.compressed(ByteBuffer(string: "x"), etag: "\"b\"") == nil)
    for number in 0..<1000 { _ = gzip.compressed(text, etag: "\(number)") }
    #expect(gzip.compressed(ByteBuffer(), etag: "\"a\"") == nil)
  }

  @Test func `times for HLS viewers follow the target duration`() {
    let short = HLSViewerTimes(target: .seconds(1), idleTime: .seconds(10))
    #expect(short.viewing == .seconds(10) && short.retention == .seconds(10))
    #expect(short.farewell == .milliseconds(1300) && short.reloading == .seconds(3))
    let long = HLSViewerTimes(target: .seconds(12), idleTime: .seconds(10))
    #expect(long.viewing == .seconds(36) && long.retention == .seconds(120))
    #expect(long.farewell == .milliseconds(4300) && long.reloading == .seconds(36))
  }

  @Test func `viewers with a request in the last ten seconds are counted once`() {
    let window = MediaDuration.seconds(10)
    var viewers = RecentViewers()
    viewers.note(address: "1", userAgent: "a", at: .zero)
    viewers.note(address: "1", userAgent: "a", at: .zero + .seconds(5))
    viewers.note(address: "1", userAgent: "b", at: .zero + .seconds(6))
    viewers.note(address: "2", userAgent: "a", at: .zero + .seconds(7))
    #expect(viewers.count(at: .zero + .seconds(7), window: window) == 3)
    #expect(viewers.hasRequest(from: .zero + .seconds(6), to: .zero + .seconds(6)))
    #expect(!viewers.hasRequest(from: .zero, to: .zero + .milliseconds(4999)))
    #expect(viewers.count(at: .zero + .seconds(15), window: window) == 2)
    #expect(viewers.count(at: .zero + .seconds(17), window: window) == 0)
    for number in 0..<(RecentViewers.maximumCount + 10) { viewers.note(address: "\(number)", userAgent: "", at: .zero) }
    #expect(viewers.count(at: .zero, window: window) == RecentViewers.maximumCount)
  }

  @Test func `a flood of new viewers is counted in linear time`() {
    let window = MediaDuration.seconds(10)
    var viewers = RecentViewers()
    // A pass over all viewers for each one beyond the limit would take 10 billion steps.
    for number in 0..<2 * RecentViewers.maximumCount { viewers.note(address: "\(number)", userAgent: "", at: .zero) }
    #expect(viewers.count(at: .zero, window: window) == RecentViewers.maximumCount)
    viewers.note(address: "late", userAgent: "", at: .zero + .seconds(20))
    #expect(viewers.count(at: .zero + .seconds(20), window: window) == 1)
  }
}

extension ServerResponse {
  var text: String {
    if case .bytes(let bytes) = self.body { String(buffer: bytes) } else { "" }
  }
}
