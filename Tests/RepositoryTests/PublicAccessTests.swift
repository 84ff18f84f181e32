import Foundation
import Testing

@Suite("Promised declarations")
struct PublicAccessTests {
  private static let access = PublicAccess(
    libraries: ["Media"],
    exports: SwiftText(
      path: "/Sources/Vidicon/Vidicon.swift",
      text: """
        internal import Serving
        @_exported public import Streaming
        @_exported public import struct Serving.Settings
        """))

  private static func lines(_ text: String, in room: String = "Serving") -> [Int] {
    self.access.unpromised(in: room, of: SwiftText(path: "/Sources/\(room)/A.swift", text: text)).map(\.line)
  }

  @Test(arguments: ["Media", "Streaming"])
  func `libraries and rooms that are re-exported promise what they declare public`(room: String) {
    #expect(Self.lines("public struct Other {}", in: room) == [])
  }

  @Test(
    arguments: [
      ("public struct Other {}", [1]),
      ("package struct Other {\n  public var port: Int\n}", [2]),
      ("public func serve() {}", [1]),
      ("public import Media\npackage struct Other {}", []),
      ("open class Other {\n  public func serve() {}\n}\npublic class Another {}", [4]),
      ("package struct Other {\n  // public\n  var text = \"public\"\n}", []),
      ("public struct Settings {\n  public var port: Int\n}\nextension Settings {\n  public var host: String\n}", []),
      ("public struct Settings {\n}\nextension Other {\n  public var host: String\n}", [4]),
    ] as [(String, [Int])])
  func `in other rooms only the types that are re-exported are public`(text: String, lines: [Int]) {
    #expect(Self.lines(text) == lines)
  }

  @Test func `nothing is public but what the libraries and Vidicon's re-exports promise`() throws {
    let exports = try #require(try Repository.swiftFiles(in: "Sources/Vidicon/Vidicon.swift").first)
    let access = PublicAccess(libraries: try PackageManifest.ofRepository().libraries, exports: exports)
    #expect(access.rooms.count > 9 && access.types.count > 9)
    for room in try Repository.rooms() {
      #expect(try Repository.swiftFiles(in: "Sources/\(room)").flatMap { access.unpromised(in: room, of: $0) } == [])
    }
  }

  /// README names the libraries that a program can use alone.
  @Test func `README lists each library of the package`() throws {
    let text = try String(contentsOf: Repository.top.appending(path: "README.md"), encoding: .utf8)
    let listed = text.matches(of: /(?m)^\| `(\w+)` \|/).map { String($0.1) }
    #expect(try PackageManifest.ofRepository().libraries == Set(listed))
  }
}
