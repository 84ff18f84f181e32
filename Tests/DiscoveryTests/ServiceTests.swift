import Media
import Testing
import Threading

@testable import Discovery

@Suite("Service")
struct ServiceTests {
  @Test func `the TXT record contains the stream's path`() throws {
    let service = try Service(
      stream: "front door/ä?#", path: "/front%20door/%C3%A4%3F%23", kind: .rtsp, port: 8554, host: "myhost")
    #expect(service.text == (try ServiceText(["path": "/front%20door/%C3%A4%3F%23"])))
    #expect(service.name.text == "front door/ä?# on myhost")
    #expect(service.port == 8554)
  }

  @Test func `a path that is too long for a TXT record is refused`() throws {
    let maximum = "/" + String(repeating: "x", count: 249)  // 255 bytes with "path=".
    #expect(try Service(stream: "x", path: maximum, kind: .http, port: 1, host: "h").text.bytes.count == 256)
    let error = #expect(throws: VidiconError.self) {
      try Service(stream: "x", path: maximum + "x", kind: .http, port: 1, host: "h")
    }
    #expect(error?.code == .invalidSpecification)
  }
}
