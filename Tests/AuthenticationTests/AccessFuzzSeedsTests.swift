import Foundation
import Testing

@testable import Authentication

/// The inputs from which the fuzz target FuzzAccess starts: each of them gets through the parser that it is for, so that
/// what lies behind the parser is reached as well.
@Suite("Seeds of the fuzz target of access")
struct AccessFuzzSeedsTests {
  private static func seed(_ name: String) throws -> String {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    return try String(contentsOf: root.appending(path: "FuzzTesting/Seeds/FuzzAccess/\(name)"), encoding: .utf8)
  }

  @Test func `a seed parses as Host, one as Origin and one as an address`() throws {
    #expect(Authority(parsing: try Self.seed("host"))?.host == "cam.example.org")
    #expect(Authority(parsing: try Self.seed("address"))?.address != nil)
    #expect(Origin(parsing: try Self.seed("origin"))?.description == "https://site.example:443")
  }

  @Test(arguments: ["basic", "digest", "bearer"])
  func `a seed parses as Authorization of each scheme`(scheme: String) throws {
    let authorization = try #require(Authorization(parsing: try Self.seed(scheme)))
    let parsed =
      switch authorization {
      case .basic: "basic"
      case .digest: "digest"
      case .bearer: "bearer"
      }
    #expect(parsed == scheme)
  }

  @Test func `a seed parses as a user file of each role`() throws {
    let file = try UserFile(parsing: try Self.seed("users"))
    #expect(file.users.map(\.role) == [.viewer, .operator])
    #expect(file.tokens.map(\.role) == [.publisher(stream: "door")])
  }
}
