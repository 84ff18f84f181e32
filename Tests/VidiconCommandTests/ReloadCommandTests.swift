import Foundation
import Media
import Testing

@testable import VidiconCommand

@Suite("vidicon reload")
struct ReloadCommandTests {
  private static let address = ServerAddress(port: 8080)

  @Test func `a server that reads its own file is asked to, and root's file is not read`() throws {
    let server = RunningServer(address: Self.address, token: "0123456789abcdef")
    let request = try ReloadCommand.request(to: server) { () throws(VidiconError) -> String in
      Issue.record("root's file was read")
      return ""
    }
    #expect(request.method == "POST" && request.path == "/api/reload" && request.token == "0123456789abcdef")
    #expect(request.body == Data("{}".utf8) && request.mediaType == "application/json")
  }

  @Test func `the package's service gets the text of root's file, with a token that operators do not have`() throws {
    var server = RunningServer(address: Self.address, token: "0123456789abcdef")
    server.configurationToken = "fedcba9876543210"
    let request = try ReloadCommand.request(to: server) { () throws(VidiconError) -> String in "streams: []\n" }
    #expect(
      String(decoding: request.serialize(port: 8080), as: UTF8.self)
        == "PUT /api/configuration HTTP/1.1\r\nHost: localhost:8080\r\nConnection: close\r\n"
        + "Authorization: Bearer fedcba9876543210\r\nContent-Type: application/yaml\r\nContent-Length: 12\r\n\r\n"
        + "streams: []\n")
  }

  @Test func `with --service no server is asked that has left no token for a configuration`() {
    let server = RunningServer(address: Self.address, token: "0123456789abcdef")
    let error = #expect(throws: VidiconError.self) {
      try ReloadCommand.request(to: server, isService: true) { () throws(VidiconError) -> String in
        Issue.record("root's file was read")
        return ""
      }
    }
    #expect(error?.code == .notFound && error?.cause.contains("port 8080") == true)
  }

  @Test func `nothing is sent where root's file cannot be read`() throws {
    let server = RunningServer(address: Self.address, token: nil, configurationToken: "fedcba9876543210")
    let error = #expect(throws: VidiconError.self) {
      try ReloadCommand.request(to: server) { () throws(VidiconError) -> String in
        try SettingsText.read("/absent/vidicon.yaml", option: "LoadCredential= of the unit")
      }
    }
    #expect(error?.code == .notFound && error?.subject == "/absent/vidicon.yaml")
  }
}
