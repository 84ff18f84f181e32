import Foundation
import Testing

@Suite("Fuzzing of parsers")
struct ParserCoverageTests {
  @Test func `every parser is reached by a fuzz target`() throws {
    let listed = ParserCoverage.files.values.flatMap(\.self)
    let declared = try Repository.swiftFiles(in: "Sources").filter { text in
      text.lines.contains { line in
        (line.words.contains("init") || line.words.contains("func"))
          && (line.code.contains("(parsing") || line.code.contains(", parsing "))
          && !line.code.contains(".init")
      }
    }
    .map { text in
      let parts = text.path.split(separator: "/")
      return "\(parts[1])/\(parts[parts.count - 1].dropLast(".swift".count))"
    }
    #expect(Set(listed) == Set(declared))
    #expect(Set(listed).count == listed.count)
  }

  @Test func `parsers of other forms exist, and every fuzz target reaches a parser`() throws {
    let paths = Set(
      try Repository.swiftFiles(in: "Sources").map { text in
        let parts = text.path.split(separator: "/")
        return "\(parts[1])/\(parts[parts.count - 1].dropLast(".swift".count))"
      })
    #expect(ParserCoverage.filesOfOtherForm.values.flatMap(\.self).filter { !paths.contains($0) } == [])
    let folder = Repository.top.appending(path: "FuzzTesting/Sources").path
    let targets = try FileManager.default.contentsOfDirectory(atPath: folder).filter {
      $0 != "FuzzDriver" && $0 != "FuzzEntry"
    }
    #expect(
      Set(targets) == Set(ParserCoverage.files.keys).union(ParserCoverage.filesOfOtherForm.keys))
  }

  @Test func `every fuzz target of the list exists, with seeds`() throws {
    let manifest = try String(contentsOf: Repository.top.appending(path: "FuzzTesting/Package.swift"), encoding: .utf8)
    for target in Set(ParserCoverage.files.keys).union(ParserCoverage.filesOfOtherForm.keys) {
      #expect(manifest.contains("\"\(target)\""), "\(target)")
      let seeds = Repository.top.appending(path: "FuzzTesting/Seeds/\(target)").path
      #expect(try !FileManager.default.contentsOfDirectory(atPath: seeds).isEmpty, "\(target)")
    }
  }
}
