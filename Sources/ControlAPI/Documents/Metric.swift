internal import Media

/// A row of the table of metrics: a name, and how a subject of one kind, such as a stream or a push, has its value.
struct Metric<Subject>: Sendable {
  /// One value of a subject.
  typealias Value = (label: String, value: any MetricValue)

  /// Name without the prefix `vidicon_`.
  let name: String
  let kind: MetricsText.Kind
  let help: String
  /// Name of the label by which the values of one subject differ; nil where a subject has one value.
  let label: String?
  /// The values of a subject; none where it has not been measured.
  let values: @Sendable (Subject) -> [Value]

  /// A metric of which each subject has one value, or none where it is nil.
  init(
    _ name: String, _ kind: MetricsText.Kind, _ help: String,
    _ value: @escaping @Sendable (Subject) -> (any MetricValue)?
  ) {
    (self.name, self.kind, self.help, self.label) = (name, kind, help, nil)
    self.values = { subject in value(subject).map { [("", $0)] } ?? [] }
  }

  /// A metric of which each subject has a value for each value of a label.
  init(
    _ name: String, _ kind: MetricsText.Kind, _ help: String, by label: String,
    _ values: @escaping @Sendable (Subject) -> [Value]
  ) {
    (self.name, self.kind, self.help, self.label, self.values) = (name, kind, help, label, values)
  }
}

/// A value that a metric may have.
protocol MetricValue {
  /// The number in the text; times in seconds, truth as 1.
  var metric: Double { get }
}

extension Int: MetricValue {
  var metric: Double { Double(self) }
}

extension Double: MetricValue {
  var metric: Double { self }
}

extension Bool: MetricValue {
  var metric: Double { self ? 1 : 0 }
}

extension MediaDuration: MetricValue {
  var metric: Double { self.seconds }
}
