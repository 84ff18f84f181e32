import Foundation
import Testing

@Suite("Types that the program reaches")
struct TypeReachTests {
  private static let program = SwiftText(
    path: "/Sources/VidiconMain/Main.swift",
    text: """
      import Unused
      @main struct Main {
        let first = First()
      }
      """)

  private static func unreached(_ text: String, roots: Set<String> = ["Main"]) -> [String] {
    let reach = TypeReach([Self.program, SwiftText(path: "/Sources/A/A.swift", text: text)])
    return reach.unreached(from: roots).map(\.message).map { String($0.split(separator: " ").last ?? "") }
  }

  @Test(
    arguments: [
      ("struct Unused {}", ["Unused"]),
      (
        "struct Unused: Sendable {\n  func copy() -> Unused { Unused() }\n}\nextension Unused { static let one = Unused() }",
        ["Unused"]
      ),
      ("// Unused\nlet text = \"Unused\"\npublic final class Unused<Element>:\n  Sendable\n{\n}", ["Unused"]),
      ("struct One { let two: Two }\nstruct Two { let one: One }", ["One", "Two"]),
      ("struct First { let second: Second }\nstruct Second {}", []),
      ("struct First {}\nextension First {\n  var second: Second { Second() }\n}\nprotocol Second {}", []),
      ("func start() {\n  Second.run()\n}\nenum Second {}", []),
      ("extension String {\n  var second: Second { Second(self) }\n}\nactor Second {}", []),
      ("struct First {\n  struct Unused {}\n}", []),
    ] as [(String, [String])])
  func `types that no reached code names are found`(text: String, names: [String]) {
    #expect(Self.unreached(text) == names)
  }

  @Test func `a root is reached with what it names`() {
    #expect(Self.unreached("struct Public { let other: Other }\nstruct Other {}", roots: ["Public"]) == ["Main"])
  }

  /// Roots are the program, and the types that the documentation of the library names.
  @Test func `every type of the sources is reached by the program or is documented for callers`() throws {
    let reach = TypeReach(try Repository.swiftFiles(in: "Sources"))
    let folder = Repository.top.appending(path: "Sources/Vidicon/Vidicon.docc")
    let pages = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
      .filter { $0.pathExtension == "md" }.map { try String(contentsOf: $0, encoding: .utf8) }
    let documented = pages.flatMap { $0.matches(of: /``(\w+)/).map { String($0.1) } }
    #expect(reach.count > 900 && documented.count > 20)
    let roots = reach.types(in: "/VidiconMain/").union(documented)
    #expect(reach.unreached(from: roots) == [])
  }
}
