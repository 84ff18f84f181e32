import Foundation
import Testing

@Suite("Fuzzing of parsers")
struct ParserCoverageTests {
  /// Files of the sources, by their module and name.
  private static func sources() throws -> [String: SwiftText] {
    Dictionary(uniqueKeysWithValues: try Repository.swiftFiles(in: "Sources").map { (ParserCoverage.name(of: $0), $0) })
  }

  /// Parsers are initializers and functions with the label `parsing`.
  @Test func `every file with parsers has a fuzzed one, which calls a type of the file`() throws {
    let declared = try Self.sources().filter { _, text in
      text.lines.contains { line in
        (line.words.contains("init") || line.words.contains("func"))
          && (line.code.has("(parsing") || line.code.has(", parsing "))
          && !line.code.has(".init")
      }
    }
    let parsers = try ParserCoverage.parsers()
    #expect(Set(parsers.map(\.file)) == Set(declared.keys))
    let strangers = parsers.filter { parser in
      declared[parser.file].map { ParserCoverage.types(in: $0).isDisjoint(with: parser.words) } ?? true
    }
    #expect(strangers.map(\.file) == [])
  }

  @Test func `parsers of other forms belong to types that fuzz cases make`() throws {
    let sources = try Self.sources()
    let reach = TypeReach(Array(sources.values))
    let lines = try Repository.swiftFiles(in: "Tests/FuzzBodies").flatMap(\.lines)
    for (file, owner) in ParserCoverage.filesOfOtherForm {
      let path = try #require(sources[file], "\(file) is gone").path
      let isMade = lines.contains { line in
        line.words.contains(owner[...]) && ["\(owner)(", "\(owner)."].contains(where: line.code.has)
      }
      #expect(isMade, "no fuzz case makes \(owner)")
      // The file is named after its type.
      let type = file.split { "/+".contains($0) }[1]
      let unreached = reach.unreached(from: [owner]).filter { $0.path == path && $0.message.hasSuffix(" \(type)") }
      #expect(unreached == [])
    }
  }

  @Test func `each fuzz body has a target, with seeds`() throws {
    let bodies = try Repository.swiftFiles(in: "Tests/FuzzBodies").flatMap(\.lines).compactMap { line in
      line.text.wholeMatch(of: /case \w+ = "(Fuzz\w+)"/).map { String($0.1) }
    }
    let folder = Repository.top.appending(path: "FuzzTesting")
    func names(in path: String) throws -> Set<String> {
      let paths = try FileManager.default.contentsOfDirectory(atPath: folder.appending(path: path).path)
      return Set(paths).subtracting(["FuzzDriver", "FuzzEntry"])
    }
    #expect(try names(in: "Sources") == Set(bodies))
    let manifest = try String(contentsOf: folder.appending(path: "Package.swift"), encoding: .utf8)
    for body in bodies {
      #expect(manifest.contains("\"\(body)\""), "\(body)")
      #expect(try !names(in: "Seeds/\(body)").isEmpty, "\(body)")
    }
  }
}
