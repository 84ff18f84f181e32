/// One response of `/metrics`, in Prometheus' text format.
struct Metrics {
  private var samples: [(name: String, labels: String, value: Double)] = []

  /// Requests `/metrics`.
  init(of vidicon: VidiconProcess) async throws {
    let answer = try await Curl.get(vidicon.page("/metrics"))
    for line in answer.text.split(separator: "\n") where !line.hasPrefix("#") {
      guard let space = line.lastIndex(of: " "), let value = Double(line[line.index(after: space)...]) else { continue }
      let series = line[..<space]
      let brace = series.firstIndex(of: "{") ?? series.endIndex
      self.samples.append((String(series[..<brace]), String(series[brace...]), value))
    }
  }

  /// Sum of the samples whose labels contain all these texts, such as `protocol="hls"`; nil without such a sample.
  func sum(_ name: String, _ labels: String...) -> Double? {
    let found = self.samples.filter { sample in sample.name == name && labels.allSatisfy(sample.labels.contains) }
    return found.isEmpty ? nil : found.reduce(0) { $0 + $1.value }
  }
}
