import Testing

@testable import HTTPServer

@Suite("Prometheus text format 0.0.4")
struct MetricsTests {
  @Test func `HELP and TYPE are followed by one line per label set`() {
    var text = MetricsText()
    text.append("a_total", .counter, "Total of a.", [(["stream": "x"], 1), (["stream": "y", "kind": "z"], 0.25)])
    text.append("b", .gauge, "One b.", -3)
    text.append("c", .gauge, "No c.", [])
    #expect(
      text.text == """
        # HELP vidicon_a_total Total of a.
        # TYPE vidicon_a_total counter
        vidicon_a_total{stream="x"} 1
        vidicon_a_total{stream="y",kind="z"} 0.25
        # HELP vidicon_b One b.
        # TYPE vidicon_b gauge
        vidicon_b -3

        """)
  }

  @Test func `labels are escaped`() {
    #expect(MetricsText.escape("a\\b\"c\nd é") == "a\\\\b\\\"c\\nd é")
  }
}
