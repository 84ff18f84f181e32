import Foundation
import Testing

@testable import HTTPServer

@Suite("OpenAPI document")
struct OpenAPITests {
  @Test func `it is JSON of version 3.1 and has every route`() throws {
    let document = try #require(
      try JSONSerialization.jsonObject(with: Data(OpenAPIDocument.text.utf8)) as? [String: Any])
    #expect(document["openapi"] as? String == "3.1.0")
    let paths = try #require(document["paths"] as? [String: Any])
    #expect(
      Set(paths.keys) == [
        "/", "/health", "/metrics", "/api/streams", "/api/streams/{name}", "/api/openapi.json", "/api/qr.svg",
        "/api/streams/{name}/recording", "/api/streams/{name}/source", "/api/streams/{name}/level", "/api/devices",
        "/api/streams/{name}/effects", "/api/streams/{name}/effects/mask", "/api/streams/{name}/effects/overlay",
        "/api/streams/{name}/events",
        "/api/recordings", "/recordings/", "/recordings/{name}/{recording}",
        "/{name}", "/{name}/snapshot.jpg", "/{name}/mjpeg", "/{name}/{file}",
      ])
  }
}
