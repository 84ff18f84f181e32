import HTTPTypes
import Media
import NIOCore
import Testing

@testable import ControlAPI
@testable import HLSServer
@testable import HTTPServer

@Suite("Body limits and caching policies")
struct HTTPLimitsTests {
  @Test(arguments: [
    ("PUT", "/api/streams/a/effects/mask", 8 << 20), ("PUT", "/api/streams/a/b/effects/overlay", 8 << 20),
    ("POST", "/api/streams/a/effects/mask", 100), ("PUT", "/api/streams/a/effects", 100),
    ("PUT", "/effects/mask", 100), ("PUT", "/api/streams/a/effects/mask?x", 100), ("PATCH", "/api/streams/a", 100),
    ("PUT", "/api/configuration", 1 << 20), ("POST", "/api/configuration", 100), ("POST", "/api/reload", 100),
  ])
  func `only images and configurations may be long`(method: String, path: String, limit: Int) {

    #expect(StubApplication().maximumBodyBytes(method: method, path: path, default: 100) == limit)
  }

  @Test func `a default above the limit of images applies to images too`() {
    let limit = StubApplication().maximumBodyBytes(
      method: "PUT", path: "/api/streams/a/effects/mask", default: 9 << 20)
    #expect(limit == 9 << 20)
  }

  @Test(arguments: [
    (HTTPCaching.immutable, "public, max-age=31536000, immutable", "private, max-age=31536000, immutable"),
    (.seconds(2), "public, max-age=2", "private, max-age=2"),
    (.shared(6), "public, max-age=1, s-maxage=6", "private, max-age=1"),
    (.revalidated, "public, no-cache", "private, no-cache"),
    (.never, "no-store", "no-store"), (.other("no-cache"), "no-cache", "private, no-cache"),
    (.other("private, max-age=1"), "private, max-age=1", "private, max-age=1"),
  ])
  func `a password makes every cacheable response private`(caching: HTTPCaching, open: String, closed: String) {

    #expect(caching.text(isPrivate: false) == open)
    #expect(caching.text(isPrivate: true) == closed)
  }

  @Test(
    arguments: [
      ("?fps=30", 30), ("?fps=1", 1), ("?fps=120", 120), ("", nil), ("?other=3", nil),
    ] as [(String, Int?)])
  func `a number of the query within its range`(query: String, number: Int?) throws {

    #expect(try HTTPTarget(parsing: "/a" + query).number("fps", in: 1...120) == number)
  }

  @Test(arguments: ["0", "121", "-1", "x", "", "1.5", "99999999999999999999", "%31%30%30%30"])
  func `a number out of range is named in the error`(text: String) throws {

    let target = try HTTPTarget(parsing: "/a?fps=" + text)
    #expect(throws: HTTPRefusal("fps must be a number from 1 to 120")) {
      try target.number("fps", in: 1...120)
    }
    let response = HTTPRefusal("fps must be a number from 1 to 120").response
    #expect(response.status == .badRequest)
    #expect(response.text == "fps must be a number from 1 to 120\n")
  }

  @Test func `parts of motion JPEG follow each other as RFC 2046 §5.1.1 says`() {
    let boundary = MotionJPEGPart.boundary
    let body =
      MotionJPEGPart.opening + MotionJPEGPart.head(length: 3) + "JPG" + MotionJPEGPart.delimiter
      + MotionJPEGPart.ending
    #expect(
      body == "--\(boundary)\r\nContent-Type: image/jpeg\r\nContent-Length: 3\r\n\r\nJPG\r\n--\(boundary)\r\n"
        + "\r\n--\(boundary)--\r\n")
  }

  @Test func `responses are counted by status class, and dates are formatted`() {
    let counters = HTTPCounters()
    for status in [200, 206, 304, 404, 401, 500, 100] { counters.count(.init(code: status)) }
    #expect(counters.responses.map(\.count) == [1, 2, 1, 2, 1])
    #expect(counters.responses.map(\.statusClass) == ["1xx", "2xx", "3xx", "4xx", "5xx"])
    // RFC 9110 §5.6.7's example.
    #expect(counters.date(unixNanoseconds: 784_111_777_000_000_000) == "Sun, 06 Nov 1994 08:49:37 GMT")
    #expect(counters.date(unixNanoseconds: 784_111_777_999_999_999) == "Sun, 06 Nov 1994 08:49:37 GMT")
    #expect(counters.date(unixNanoseconds: 784_111_778_000_000_000) == "Sun, 06 Nov 1994 08:49:38 GMT")
  }
}
