import Media
import Testing

@testable import HLSServer
@testable import HTTPServer

@Suite("Throughput of HLS viewers")
struct ViewerThroughputsTests {
  private let viewer = ViewerThroughputs.Viewer(address: "10.0.0.2", userAgent: "a")

  private static func filled(_ bitrate: Int) -> ConnectionThroughput {
    ConnectionThroughput(bitrate: bitrate)
  }

  @Test func `a filled network is known, with the mean of what it was before`() {
    var throughputs = ViewerThroughputs()
    #expect(throughputs.bitrate(of: self.viewer, at: .zero) == nil)
    throughputs.note(Self.filled(1_000_000), of: self.viewer, at: .zero)
    #expect(throughputs.bitrate(of: self.viewer, at: .zero) == 1_000_000)
    throughputs.note(Self.filled(2_000_000), of: self.viewer, at: .zero)
    #expect(throughputs.bitrate(of: self.viewer, at: .zero) == 1_500_000)
    for other in [("10.0.0.3", "a"), ("10.0.0.2", "b")] {
      let viewer = ViewerThroughputs.Viewer(address: other.0, userAgent: other.1)
      #expect(throughputs.bitrate(of: viewer, at: .zero) == nil)
    }
  }

  @Test func `a measurement holds for a minute, and viewers are limited in number`() {
    var throughputs = ViewerThroughputs()
    throughputs.note(Self.filled(1_000_000), of: self.viewer, at: .zero)
    let end = MediaTime.zero + ViewerThroughputs.lifetime
    #expect(throughputs.bitrate(of: self.viewer, at: end - .milliseconds(1)) == 1_000_000)
    #expect(throughputs.bitrate(of: self.viewer, at: end) == nil)
    throughputs.note(Self.filled(3_000_000), of: self.viewer, at: end)
    #expect(throughputs.bitrate(of: self.viewer, at: end) == 3_000_000)
    for index in 0..<ViewerThroughputs.maximumCount {
      throughputs.note(Self.filled(1), of: .init(address: "\(index)", userAgent: ""), at: end)
    }
    let last = ViewerThroughputs.Viewer(address: "\(ViewerThroughputs.maximumCount - 1)", userAgent: "")
    #expect(throughputs.bitrate(of: last, at: end) == nil)
    throughputs.note(Self.filled(1), of: last, at: end + ViewerThroughputs.lifetime)
    #expect(throughputs.bitrate(of: last, at: end + ViewerThroughputs.lifetime) == 1)
  }
}
