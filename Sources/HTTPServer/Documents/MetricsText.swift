/// Numbers in Prometheus's text format, version 0.0.4: a name with its help and type, then a line for each set of labels.
struct MetricsText {
  /// What a number is.
  enum Kind: String {
    /// It only grows, until the program starts anew.
    case counter
    /// It goes up and down.
    case gauge
  }

  /// The value of `Content-Type`.
  static let mediaType = "text/plain; version=0.0.4; charset=utf-8"

  private(set) var text = ""

  /// Writes a metric.
  ///
  /// - Parameters:
  ///   - name: Without the prefix `vidicon_`.
  ///   - samples: The labels and the value of each line; without one the metric is left out.
  mutating func append(
    _ name: String, _ kind: Kind, _ help: String, _ samples: [(labels: KeyValuePairs<String, String>, value: Double)]
  ) {
    guard !samples.isEmpty else { return }
    self.text += "# HELP vidicon_\(name) \(help)\n# TYPE vidicon_\(name) \(kind.rawValue)\n"
    for sample in samples {
      self.text += "vidicon_\(name)"
      if !sample.labels.isEmpty {
        let labels = sample.labels.map { label in "\(label.key)=\"\(Self.escape(label.value))\"" }
        self.text += "{\(labels.joined(separator: ","))}"
      }
      self.text += " \(Self.format(sample.value))\n"
    }
  }

  /// Writes a metric that has no labels.
  mutating func append(_ name: String, _ kind: Kind, _ help: String, _ value: Int) {
    self.append(name, kind, help, [(labels: [:] as KeyValuePairs<String, String>, value: Double(value))])
  }

  private static func format(_ value: Double) -> String {
    value == value.rounded() && abs(value) < 1e15 ? String(Int64(value)) : String(value)
  }

  /// A label's value, in which backslash, quote and line end are escaped.
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
