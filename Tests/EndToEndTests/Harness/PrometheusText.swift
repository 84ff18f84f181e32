import Foundation

/// Strict parser of Prometheus' text format, version 0.0.4. Every line is a HELP, a TYPE or a sample; every metric has one
/// HELP and one TYPE before its samples, which are contiguous.
struct PrometheusText {
  /// Syntax error with its line.
  struct Malformed: Error, CustomStringConvertible {
    var description: String
  }

  /// A metric.
  struct Metric {
    var help: String?
    var type: String?
    /// Sample values by label set.
    var samples: [[String: String]: Double] = [:]
  }

  private(set) var metrics: [String: Metric] = [:]
  private var current = ""

  /// Parses a complete response.
  init(parsing text: String) throws {
    guard text.hasSuffix("\n") else { throw Malformed(description: "the last line has no end") }
    for line in text.dropLast().split(separator: "\n", omittingEmptySubsequences: false) {
      do {
        if line.hasPrefix("#") { try self.readComment(line) } else { try self.readSample(line) }
      } catch let problem as Malformed {
        throw Malformed(description: "\(problem.description): \(line)")
      }
    }
    for (name, metric) in self.metrics where metric.help == nil || metric.type == nil || metric.samples.isEmpty {
      throw Malformed(description: "\(name) lacks help, type or samples")
    }
  }

  /// Values of the counters, by name and labels.
  var counters: [String: Double] {
    var counters: [String: Double] = [:]
    for (name, metric) in self.metrics where metric.type == "counter" {
      for (labels, value) in metric.samples {
        counters["\(name) \(labels.sorted { $0.key < $1.key })"] = value
      }
    }
    return counters
  }

  private mutating func readComment(_ line: Substring) throws {
    let pieces = line.split(separator: " ", maxSplits: 3, omittingEmptySubsequences: false)
    guard pieces.count == 4, pieces[0] == "#", !pieces[3].isEmpty else { throw Malformed(description: "a comment") }
    let name = String(pieces[2])
    guard name.wholeMatch(of: /[a-zA-Z_:][a-zA-Z0-9_:]*/) != nil else { throw Malformed(description: "a name") }
    switch pieces[1] {
    case "HELP":
      guard self.metrics[name] == nil else { throw Malformed(description: "comes again") }
      self.metrics[name] = Metric(help: String(pieces[3]))
      self.current = name
    case "TYPE":
      guard self.current == name, self.metrics[name]?.type == nil, self.metrics[name]?.samples.isEmpty == true else {
        throw Malformed(description: "a type that does not follow its help")
      }
      guard ["counter", "gauge"].contains(pieces[3]) else { throw Malformed(description: "a type") }
      // A convention, not a rule of the format.
      guard (pieces[3] == "counter") == name.hasSuffix("_total") else { throw Malformed(description: "a suffix") }
      self.metrics[name]?.type = String(pieces[3])
    default: throw Malformed(description: "a comment of another kind")
    }
  }

  private mutating func readSample(_ line: Substring) throws {
    let pattern = /([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (-?[0-9]+(?:\.[0-9]+)?(?:e[-+]?[0-9]+)?)/
    guard let match = line.wholeMatch(of: pattern), let value = Double(match.3) else {
      throw Malformed(description: "no sample")
    }
    let name = String(match.1)
    guard name == self.current, self.metrics[name]?.type != nil else {
      throw Malformed(description: "a sample not behind its type")
    }
    if self.metrics[name]?.type == "counter", value < 0 { throw Malformed(description: "a count below zero") }
    let labels = try Self.labels(match.2 ?? "")
    guard self.metrics[name]?.samples.updateValue(value, forKey: labels) == nil else {
      throw Malformed(description: "a sample that comes twice")
    }
  }

  private static func labels(_ text: Substring) throws -> [String: String] {
    var labels: [String: String] = [:]
    var rest = text
    while !rest.isEmpty {
      guard let match = rest.prefixMatch(of: /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\[\\n"])*)"(?:,|$)/),
        labels.updateValue(String(match.2), forKey: String(match.1)) == nil
      else { throw Malformed(description: "a label") }
      rest = rest[match.range.upperBound...]
    }
    return labels
  }
}
