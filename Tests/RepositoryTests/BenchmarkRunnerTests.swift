import Foundation
import Testing

@Suite("Benchmarks/measure.py")
struct BenchmarkRunnerTests {
  /// Runs the runner with two measurements, in a work tree whose changes are given: "first", whose body is given, and "second",
  /// whose row holds.
  private func run(
    first: String, changes: String = "", _ arguments: String...
  ) throws -> (status: Int32, output: String, errors: String) {
    let script = """
      import sys
      sys.path.insert(0, "Benchmarks")
      import measure, report
      report.changes, report.git = lambda: "\(changes)", lambda *arguments: 40 * "a"
      measure.MEASUREMENTS = {
        "first": lambda settings: \(first),
        "second": lambda settings: report.row("b", 3, 4, "0.75", "1", True)}
      sys.exit(measure.main(["--program", "p", "--tools", "t", "--video", "v"] + sys.argv[1:]))
      """
    return try Repository.run(["python3", "-B", "-c", script] + arguments)
  }

  @Test func `rows that hold end the run with status 0`() throws {
    let run = try self.run(first: #"report.row("a", 1, 2, "0.5", "1", True)"#)
    #expect(run.status == 0 && run.errors == "")
    #expect(run.output.hasSuffix("| a | 1 | 2 | 0.5 | 1 | yes |\n| b | 3 | 4 | 0.75 | 1 | yes |\n"))
  }

  @Test func `a row that does not hold ends the run with status 1, after all measurements, and is named`() throws {
    let run = try self.run(first: #"report.row("a", 1, 2, "0.5", "1", holds=False)"#)
    #expect(run.status == 1 && run.errors == "NO: first: a\n")
    #expect(run.output.hasSuffix("| a | 1 | 2 | 0.5 | 1 | NO |\n| b | 3 | 4 | 0.75 | 1 | yes |\n"))
  }

  @Test(arguments: ["1 / 0", #"sys.exit("no viewers")"#, "sys.exit(0)", "print()", "__import__('no_such_detector')"])
  func `a measurement that fails is a row that does not hold`(first: String) throws {
    let run = try self.run(first: first)
    #expect(run.status == 1 && run.errors == "NO: first: first: the measurement failed\n")
    #expect(run.output.hasSuffix("| NO |\n| b | 3 | 4 | 0.75 | 1 | yes |\n"))
  }

  @Test func `changes in the work tree refuse a file of rows, with status 2 and nothing measured`() throws {
    let run = try self.run(first: "1 / 0", changes: " M Package.swift", "--json", "rows.json")
    #expect(run.status == 2 && run.output == "" && run.errors.contains(" M Package.swift"), "\(run)")
    #expect(try self.run(first: #"report.row("a", 1, 2, "0.5", "1", True)"#, changes: " M Package.swift").status == 0)
  }

  @Test func `a page without all measurements is refused, with status 2 and nothing measured`() throws {
    let run = try self.run(first: "1 / 0", "second", "--json", "rows.json", "--page", "page.md")
    #expect(run.status == 2 && run.output == "" && run.errors.contains("all measurements"), "\(run)")
  }

  @Test func `the rows of a commit are written, and rendered between the marks of a page`() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }  // A leftover temporary folder is harmless.
    let (file, page) = (folder.appending(path: "rows.json"), folder.appending(path: "page.md"))
    let (begin, end) = ("Before.\n<!-- Benchmarks/run -->\n", "<!-- end of Benchmarks/run -->\nAfter.\n")
    try Data("\(begin)old\n\(end)".utf8).write(to: page)
    let first = #"report.row("a|a", "1\n2", "", "", "1", False)"#
    #expect(try self.run(first: first, "--rounds", "3", "--json", file.path, "--page", page.path).status == 1)
    let run = try BenchmarkRun(of: file)
    #expect(run.commit == String(repeating: "a", count: 40) && run.rounds == 3 && run.cores > 0 && !run.cpu.isEmpty)
    #expect(run.date.wholeMatch(of: /20\d\d-\d\d-\d\d/) != nil)
    #expect(
      run.rows == [
        .init(measurement: "first", name: "a|a", ours: "1\n2", theirs: "", ratio: "", limit: "1", holds: false),
        .init(measurement: "second", name: "b", ours: "3", theirs: "4", ratio: "0.75", limit: "1", holds: true),
      ])
    let rendered = try Repository.run(["python3", "-B", "Benchmarks/report.py", file.path]).output
    #expect(
      rendered.hasPrefix("Commit `\(run.commit)`, \(run.date), \(run.cores) cores of \(run.cpu), 3 rounds:\n\n| "))
    #expect(rendered.hasSuffix("\n| a\\|a | 1 2 |  |  | 1 | NO |\n| b | 3 | 4 | 0.75 | 1 | yes |\n"))
    #expect(try String(contentsOf: page, encoding: .utf8) == begin + rendered + end)
  }
}
