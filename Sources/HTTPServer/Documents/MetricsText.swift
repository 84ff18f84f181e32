/// Writer of Prometheus's text exposition format, version 0.0.4: `HELP`, `TYPE`, then one line per label set.
struct MetricsText {
  /// Metric type.
  enum Kind: String {
    /// A value that only increases until the program restarts.
    case counter
    /// A value that can go up and down.
    case gauge
  }

  /// The value of `Content-Type`.
  static let mediaType = "text/plain; version=0.0.4; charset=utf-8"

  private(set) var text = ""

  /// Appends a metric.
  ///
  /// - Parameters:
  ///   - name: Name without the prefix `vidicon_`.
  ///   - samples: Labels and value of each line; when empty, the metric is omitted.
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

  /// Appends a metric without labels.
  mutating func append(_ name: String, _ kind: Kind, _ help: String, _ value: Int) {
    self.append(name, kind, help, [(labels: [:] as KeyValuePairs<String, String>, value: Double(value))])
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
