import Foundation

/// Rows of one run of one commit, as `Benchmarks/run --json` writes them.
struct BenchmarkRun: Decodable {
  /// A measured value with its limit; empty strings where there is no peer, ratio or limit.
  struct Row: Decodable, Equatable {
    /// Key of `MEASUREMENTS` in `Benchmarks/measure.py`.
    var measurement: String
    var name: String
    var ours: String
    var theirs: String
    var ratio: String
    var limit: String
    var holds: Bool
  }

  /// Full hash of the commit that was measured.
  var commit: String
  var date: String
  var cpu: String
  var cores: Int
  /// Number of times that each side ran.
  var rounds: Int
  var rows: [Row]

  init(of file: URL) throws {
    self = try JSONDecoder().decode(Self.self, from: Data(contentsOf: file))
  }
}
