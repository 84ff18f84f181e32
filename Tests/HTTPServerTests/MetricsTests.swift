import Foundation
import TestSupport
import Testing

@testable import ControlAPI

@Suite("Prometheus text format 0.0.4")
struct MetricsTests {
  @Test func `a row of a table is HELP and TYPE, then one line for each value of each subject`() {
    let table: [Metric<[String: Int]>] = [
      Metric("a_total", .counter, "Total of a.") { $0["a"] },
      Metric("b", .gauge, "All of b.", by: "kind") { counts in
        ["d", "e"].compactMap { key in counts[key].map { (key, $0) } }
      },
      Metric("c", .gauge, "No c.") { $0["c"] },
    ]
    var text = MetricsText()
    text.append(table, of: [([("stream", "x")], ["a": 1]), ([("stream", "y")], ["a": -2, "d": 3, "e": 4])])
    let further: [Metric<Double>] = [
      Metric("f", .gauge, "One f.") { $0 }, Metric("g", .gauge, "Whether.") { $0 == 0.25 },
    ]
    text.append(further, of: [([], 0.25)])
    #expect(
      text.text == """
        # HELP vidicon_a_total Total of a.
        # TYPE vidicon_a_total counter
        vidicon_a_total{stream="x"} 1
        vidicon_a_total{stream="y"} -2
        # HELP vidicon_b All of b.
        # TYPE vidicon_b gauge
        vidicon_b{stream="y",kind="d"} 3
        vidicon_b{stream="y",kind="e"} 4
        # HELP vidicon_f One f.
        # TYPE vidicon_f gauge
        vidicon_f 0.25
        # HELP vidicon_g Whether.
        # TYPE vidicon_g gauge
        vidicon_g 1

        """)
  }

  @Test func `labels are escaped`() {
    #expect(MetricsText.escape("a\\b\"c\nd é") == "a\\\\b\\\"c\\nd é")
  }

  /// Name and type of each row of all tables.
  private static let rows: [(name: String, kind: MetricsText.Kind)] =
    Metric.ofStreams.map { ($0.name, $0.kind) } + Metric.ofRenditions.map { ($0.name, $0.kind) }
    + Metric.ofWebRTCViewers.map { ($0.name, $0.kind) } + Metric.ofPublishers.map { ($0.name, $0.kind) }
    + Metric.ofPushes.map { ($0.name, $0.kind) } + Metric.ofRecorders.map { ($0.name, $0.kind) }
    + Metric.ofRecordings.map { ($0.name, $0.kind) } + Metric.ofServer.map { ($0.name, $0.kind) }

  @Test func `no name is in the tables twice, and those of counters end in total`() {
    #expect(Set(Self.rows.map(\.name)).count == Self.rows.count)
    for row in Self.rows { #expect(row.name.hasSuffix("_total") == (row.kind == .counter), "\(row.name)") }
  }

  private static let documentation = URL(filePath: #filePath).appending(path: "../../../docs").standardizedFileURL
  private static let alerts = documentation.appending(path: "prometheus/alerts.yml")

  @Test func `Prometheus accepts the alerting rules, and each fault raises its alert`() async throws {
    let folder = Self.alerts.deletingLastPathComponent().path
    let answer = try await promtool(
      #"cd "$1" && promtool check rules alerts.yml && promtool test rules alerts.test.yml"#, folder)
    #expect(answer.hasSuffix("status 0\n"), "\(answer)")
  }

  @Test func `each metric that the documentation names is in the tables`() throws {
    var found: Set<String> = []
    let pages = try FileManager.default.contentsOfDirectory(at: Self.documentation, includingPropertiesForKeys: nil)
    for file in pages.filter({ $0.pathExtension == "md" }) + [Self.alerts] {
      for match in try String(contentsOf: file, encoding: .utf8).matches(of: /vidicon_(?<name>[a-z_]*[a-z])/) {
        found.insert(String(match.output.name))
      }
    }
    #expect(found.count >= 10)
    #expect(found.subtracting(Self.rows.map(\.name)).sorted() == [])
  }
}

/// Output of a command with Prometheus' `promtool`, and at last its status.
private func promtool(_ command: String, _ argument: String) async throws -> String {
  String(decoding: try await output(ofShell: "(\(command)) 2>&1; echo status $?", argument), as: UTF8.self)
}

/// Expects that Prometheus accepts the answer to `GET /metrics`.
func expectMetrics(_ text: String) async throws {
  let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
  try text.write(to: file, atomically: true, encoding: .utf8)
  defer { try? FileManager.default.removeItem(at: file) }
  let answer = try await promtool(#"promtool check metrics <"$1""#, file.path)
  #expect(answer == "status 0\n", "\(answer)")
}
