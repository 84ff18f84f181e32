import RTSP
import Testing

@Suite("RTSP headers, RFC 2326 §12")
struct RTSPHeadersTests {
  @Test func `names are compared case-insensitively and keep their order`() {
    var headers: RTSPHeaders = ["CSeq": "1", "Require": "a", "session": "x", "REQUIRE": "b"]
    #expect(headers["cseq"] == "1")
    #expect(headers["Session"] == "x")
    #expect(headers.values(of: "require") == ["a", "b"])
    #expect(headers.list(of: "Require") == "a, b")
    #expect(headers.list(of: "Range") == nil)
    headers["Require"] = nil
    headers["Session"] = "y"
    #expect(headers.fields.map(\.name) == ["CSeq", "Session"])
    #expect(headers["SESSION"] == "y")
  }

  @Test func `a status has its reason phrase`() {
    #expect(RTSPStatus.unsupportedTransport.description == "461 Unsupported Transport")
    #expect(RTSPStatus(code: 299).reasonPhrase == "OK")
    #expect(RTSPStatus(code: 499).reasonPhrase == "Error")
    #expect(RTSPStatus(code: -1).code == 100)
  }
}
