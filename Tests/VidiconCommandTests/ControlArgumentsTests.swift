import Foundation
import Media
import Testing

@testable import VidiconCommand

@Suite("vidicon control and vidicon status")
struct ControlArgumentsTests {
  private static func texts(_ words: [String], page: String = "/door") throws -> [String] {
    try ControlArguments(words).requests(page: page).map {
      "\($0.method) \($0.path) \(String(decoding: $0.body, as: UTF8.self))"
    }
  }

  @Test func `changes are the requests of the API, sources first, then settings, then recording`() throws {
    let words = ["record=start", "mirror=true", "source=rtsp://joe:a=b@h/x?y=1", "bitrate=1.5M", "audio=none"]
    #expect(
      try Self.texts(words) == [
        #"PUT /api/streams/door/source {"audio":"none","video":"rtsp://joe:a=b@h/x?y=1"}"#,
        #"PATCH /api/streams/door {"bitrate":1500000,"mirror":true}"#,
        #"POST /api/streams/door/recording {"action":"start"}"#,
      ])
    #expect(try ControlArguments(["yard", "mute=false"]).name == "yard")
    #expect(try ControlArguments(["mute=false"]).name == nil)
    #expect(
      try Self.texts(["rotation=90", "mute=true", "pause=false"], page: "/a%20b") == [
        #"PATCH /api/streams/a%20b {"mute":true,"pause":false,"rotation":90}"#
      ])
  }

  @Test func `a file is named by its path from the root`() throws {
    let folder = FileManager.default.currentDirectoryPath
    #expect(
      try Self.texts(["source=file:a.mp4"]) == [#"PUT /api/streams/door/source {"video":"file:\#(folder)/a.mp4"}"#])
    #expect(try Self.texts(["source=file:/a.mp4"]) == [#"PUT /api/streams/door/source {"video":"file:/a.mp4"}"#])
  }

  @Test(arguments: [
    ([], "there is nothing to change"), (["door"], "there is nothing to change"),
    (["door", "yard"], "is not KEY=VALUE"),
    (["colour=red"], "\"colour\": there is no such key"), (["mirror=yes"], "neither true nor false"),
    (["mirror=true", "mirror=false"], "\"mirror\": it is given twice"), (["rotation=45"], "is not a rotation"),
    (["bitrate=fast"], "is not a bitrate"), (["record=now"], "give start, stop, pause or resume"),
    (["=x"], "there is no such key"),
  ])
  func `a wrong change is named, with exit status 64`(words: [String], message: String) {
    #expect {
      _ = try ControlArguments(words)
    } throws: { error in
      guard let failure = error as? VidiconError else { return false }
      return failure.exitStatus == 64 && failure.description.contains(message)
    }
  }

  @Test(arguments: [
    ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab", 200, "ab"), ("HTTP/1.1 401 \r\n\r\n", 401, ""),
    ("HTTP/1.0 204 No Content\r\ncontent-length:0\r\n\r\n", 204, ""),
    ("HTTP/1.1 200 OK\r\n\r\na\r\n\r\nb", 200, "a\r\n\r\nb"),
  ])
  func `responses are parsed`(text: String, status: Int, body: String) throws {
    let response = try #require(LocalRequest.Response(parsing: Data(text.utf8)))
    #expect(response.status == status && String(decoding: response.body, as: UTF8.self) == body)
    let end = text.utf8.count - body.utf8.count
    for count in 0..<end { #expect(LocalRequest.Response(parsing: Data(text.utf8.prefix(count))) == nil) }
  }

  @Test(arguments: [
    "", "HTTP/1.1\r\n\r\n", "HTTP/1.1 OK\r\n\r\n", "RTSP/1.0 200 OK\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab",
    "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "\r\n\r\n",
  ])
  func `anything else is no response`(text: String) {
    #expect(LocalRequest.Response(parsing: Data(text.utf8)) == nil)
  }

  @Test func `a request has the token and the length of its body`() {
    var request = LocalRequest(path: "/api/streams")
    #expect(
      String(decoding: request.serialize(port: 8080), as: UTF8.self)
        == "GET /api/streams HTTP/1.1\r\nHost: localhost:8080\r\nConnection: close\r\n\r\n")
    request = LocalRequest(method: "PATCH", path: "/x", token: "t", body: Data("{}".utf8))
    #expect(
      String(decoding: request.serialize(port: 1), as: UTF8.self)
        == "PATCH /x HTTP/1.1\r\nHost: localhost:1\r\nConnection: close\r\nAuthorization: Bearer t\r\n"
        + "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
  }
}
