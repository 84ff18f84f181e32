/// Writer of Prometheus's text exposition format, version 0.0.4: `HELP`, `TYPE`, then one line per label set.
struct MetricsText {
  /// Metric type.
  enum Kind: String {
    /// A value that only increases until the program restarts.
    case counter
    /// A value that can go up and down.
    case gauge
  }

  /// Names and values of labels, in the order of the text.
  typealias Labels = [(name: String, value: String)]

  /// The value of `Content-Type`.
  static let mediaType = "text/plain; version=0.0.4; charset=utf-8"

  private(set) var text = ""

  /// Appends the rows of a table for its subjects; a row without a value is left out.
  mutating func append<Subject>(_ table: [Metric<Subject>], of subjects: [(labels: Labels, subject: Subject)]) {
    for metric in table {
      var lines = ""
      for (labels, subject) in subjects {
        for (label, value) in metric.values(subject) {
          let all = metric.label.map { labels + [($0, label)] } ?? labels
          lines += "vidicon_\(metric.name)\(Self.text(of: all)) \(Self.format(value.metric))\n"
        }
      }
      guard !lines.isEmpty else { continue }
      self.text += "# HELP vidicon_\(metric.name) \(metric.help)\n"
      self.text += "# TYPE vidicon_\(metric.name) \(metric.kind.rawValue)\n" + lines
    }
  }

  private static func text(of labels: Labels) -> String {
    if labels.isEmpty { return "" }
    return "{\(labels.map { "\($0.name)=\"\(Self.escape($0.value))\"" }.joined(separator: ","))}"
  }

  private static func format(_ value: Double) -> String {
    value == value.rounded() && abs(value) < 1e15 ? String(Int64(value)) : String(value)
  }

  /// Escapes backslash, quote and line feed of a label value.
  static func escape(_ value: String) -> String {
    var bytes: [UInt8] = []
    for byte in value.utf8 {
      switch byte {
      case UInt8(ascii: "\\"), UInt8(ascii: "\""): bytes += [UInt8(ascii: "\\"), byte]
      case UInt8(ascii: "\n"): bytes += [UInt8(ascii: "\\"), UInt8(ascii: "n")]
      default: bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
