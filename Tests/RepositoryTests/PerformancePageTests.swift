import Foundation
import Testing

/// The table of docs/performance.md: that of a run whose rows are committed beside it, or one that says that it is not.
@Suite("docs/performance.md")
struct PerformancePageTests {
  private static let file = "docs/performance.json"
  private static let marks = (begin: "<!-- Benchmarks/run -->\n", end: "<!-- end of Benchmarks/run -->\n")
  /// Words with which a table begins that no single run has made.
  private static let admission = "**Not of one run.** "

  /// Text between the marks of a page, and behind them.
  private static func parts(of page: String) throws -> (table: String, rest: String) {
    let begin = try #require(page.firstRange(of: Self.marks.begin)).upperBound
    let end = try #require(page[begin...].firstRange(of: Self.marks.end))
    return (String(page[begin..<end.lowerBound]), String(page[end.upperBound...]))
  }

  /// Reasons for which a page is not that of the rows of a run; `rendered` is what `Benchmarks/report.py` makes of them. Nil for a
  /// page without rows.
  private static func problems(
    of page: String, _ run: BenchmarkRun?, rendered: String, measurements: Set<String>
  ) throws -> [String] {
    let (table, rest) = try Self.parts(of: page)
    guard let run else { return table.hasPrefix(Self.admission) ? [] : ["no rows, and no word of it"] }
    var problems = table == rendered ? [] : ["another table"]
    if run.commit.wholeMatch(of: /[0-9a-f]{40}/) == nil { problems.append("no commit") }
    let line = rest.split(separator: "\n").first { $0.hasPrefix("Newer than this run: ") } ?? ""
    let newer = Set(line.matches(of: /`([a-z0-9]+)`/).map { String($0.1) })
    let measured = Set(run.rows.map(\.measurement))
    let absent = measurements.subtracting(measured).symmetricDifference(newer).sorted()
    if !absent.isEmpty { problems.append("not named, or named without reason: \(absent)") }
    let unknown = measured.subtracting(measurements).sorted()
    if !unknown.isEmpty { problems.append("no measurements: \(unknown)") }
    return problems
  }

  /// Names of all measurements of `Benchmarks/run`.
  private static func measurements() throws -> Set<String> {
    let script = "import sys; sys.path.insert(0, 'Benchmarks'); import measure; print(*measure.MEASUREMENTS)"
    let run = try Repository.run(["python3", "-B", "-c", script])
    try #require(run.status == 0, "\(run.errors)")
    return Set(run.output.split(whereSeparator: \.isWhitespace).map(String.init))
  }

  @Test func `the table is that of the run beside it, of one commit, or says that it is not of one run`() throws {
    let url = Repository.top.appending(path: Self.file)
    let page = try String(contentsOf: Repository.top.appending(path: "docs/performance.md"), encoding: .utf8)
    var (run, rendered): (BenchmarkRun?, String) = (nil, "")
    if FileManager.default.fileExists(atPath: url.path) {
      run = try BenchmarkRun(of: url)
      let report = try Repository.run(["python3", "-B", "Benchmarks/report.py", Self.file])
      try #require(report.status == 0, "\(report.errors)")
      rendered = report.output
    }
    #expect(try Self.problems(of: page, run, rendered: rendered, measurements: Self.measurements()) == [])
  }

  @Test func `another table, a row of no measurement and one that is missing are found`() throws {
    let rows = """
      {"commit": "\(String(repeating: "a", count: 40))", "date": "2026-11-28", "cpu": "c", "cores": 2, "rounds": 2, "rows": [
        {"measurement": "tcp", "name": "n", "ours": "1", "theirs": "", "ratio": "", "limit": "", "holds": true}]}
      """
    let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try Data(rows.utf8).write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }  // A leftover temporary file is harmless.
    var run = try BenchmarkRun(of: file)
    let rendered = try Repository.run(["python3", "-B", "Benchmarks/report.py", file.path]).output
    func problems(_ table: String, _ rest: String = "", of run: BenchmarkRun?, _ measurements: Set<String>) throws
      -> Int
    {
      try Self.problems(
        of: "Before.\n\(Self.marks.begin)\(table)\(Self.marks.end)\(rest)", run, rendered: rendered,
        measurements: measurements
      ).count
    }
    #expect(try problems(rendered, of: run, ["tcp"]) == 0)
    #expect(try problems(rendered + "| m | 1 | | | | yes |\n", of: run, ["tcp"]) == 1)
    #expect(try problems(rendered, of: run, ["tcp", "udp"]) == 1)
    #expect(try problems(rendered, "\nNewer than this run: `udp`.\n", of: run, ["tcp", "udp"]) == 0)
    #expect(try problems(rendered, "\nNewer than this run: `udp`.\n", of: run, ["tcp"]) == 1)
    #expect(try problems(rendered, of: run, []) == 1)
    #expect(try problems(rendered, of: nil, ["tcp"]) == 1)
    #expect(try problems(Self.admission + rendered, of: nil, ["tcp"]) == 0)
    #expect(try problems(Self.admission + rendered, of: run, ["tcp"]) == 1)
    run.commit = "none"
    #expect(try problems(rendered, of: run, ["tcp"]) == 1)
  }

  @Test func `Benchmarks/README.md describes each measurement, and no other`() throws {
    let text = try String(contentsOf: Repository.top.appending(path: "Benchmarks/README.md"), encoding: .utf8)
    let described = text.split(separator: "\n").compactMap {
      $0.prefixMatch(of: /\| `([a-z0-9]+)` \|/).map { String($0.1) }
    }
    // Two names of Benchmarks/run are end-to-end tests.
    let measurements = try Self.measurements()
    #expect(Set(described) == measurements.union(["soak", "network"]))
    #expect(Set(described).count == described.count && described.count > 25)
  }
}
