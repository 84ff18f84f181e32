internal import Authentication
internal import HLSServer
internal import HTTPServer
internal import Pushing
internal import Serving
internal import Threading

extension HTTPResponder {
  /// The text of `/metrics`. Pushes and viewers are known by their number: where a stream is sent to is for operators, and addresses
  /// of viewers are not listed.
  ///
  /// - Parameter user: Clients that may not list recordings learn only that there is one.
  func metricsText(for user: HTTPUser) -> String {
    let now = self.clock.now()
    let streams = self.streams.all.map { StreamMetrics($0, providers: self.providers, at: now) }
    func each<Subject>(
      _ label: String? = nil, _ subjects: (StreamMetrics) -> [(name: String, subject: Subject)]
    ) -> [(labels: MetricsText.Labels, subject: Subject)] {
      streams.flatMap { stream in
        subjects(stream).map { name, subject in
          ([("stream", stream.name)] + (label.map { [($0, name)] } ?? []), subject)
        }
      }
    }
    var text = MetricsText()
    text.append(Metric.ofStreams, of: each { [("", $0)] })
    text.append(Metric.ofRenditions, of: each("rendition") { $0.renditions.map { ($0.name, $0) } })
    text.append(Metric.ofWebRTCViewers, of: each("viewer") { $0.viewers.map { ("\($0.number)", $0) } })
    text.append(Metric.ofPublishers, of: each { stream in stream.publisher.map { [("", $0)] } ?? [] })
    text.append(Metric.ofPushes, of: each("push") { $0.pushes.map { ("\($0.id)", $0.status) } })
    text.append(Metric.ofRecorders, of: each { stream in stream.recording.map { [("", $0)] } ?? [] })
    if self.mayReadRecordings(user) {
      text.append(Metric.ofRecordings, of: each { stream in stream.recording.map { [("", $0)] } ?? [] })
    }
    text.append(Metric.ofServer, of: [([], self)])
    return text.text
  }
}

extension Metric<HTTPResponder> {
  /// Metrics of the server as a whole.
  static let ofServer: [Metric<HTTPResponder>] = [
    Metric("streams", .gauge, "Served streams.") { $0.streams.all.count },
    Metric("http_connections", .gauge, "Open HTTP connections.") { $0.http.connectionCount },
    Metric("connections", .gauge, "Open connections of HTTP, RTSP and RTMP, and further streams of HTTP/2.") {
      $0.http.registry.count
    },
    Metric("connections_maximum", .gauge, "Maximum number of open connections.") {
      $0.http.registry.maximumCount
    },
    Metric("refusals_total", .counter, "Requests, connections and datagrams refused, by reason.", by: "reason") {
      $0.http.registry.refusals.all.map { ($0.reason.rawValue, $0.count) }
    },
    Metric(
      "accept_failures_total", .counter,
      "Times that no connection was accepted for a second because the system had no descriptor or memory."
    ) { $0.http.registry.acceptFailures },
    Metric("clock_steps_total", .counter, "Steps of the machine's clock: it was set, or the machine slept.") {
      $0.clock.stepCount
    },
    Metric("image_upload_bytes", .gauge, "Memory of the images being uploaded, in bytes.") {
      $0.imageUploads.byteCount
    },
    Metric(
      "http_connections_timed_out_total", .counter, "HTTP connections closed because the client was too slow."
    ) { $0.http.timedOutCount },
    Metric("http_requests_total", .counter, "HTTP responses, by status class.", by: "code") {
      $0.policy.counters.responses.map { ($0.statusClass, $0.count) }
    },
  ]
}
