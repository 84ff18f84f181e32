import Capture
import Media
import Testing

@testable import Streaming

@Suite("Published streams of a server", .timeLimit(.minutes(5)))
struct BroadcasterTableTests {
  /// An output without viewers.
  private final class Output: StreamBroadcaster {
    let rendition: Rendition

    init(_ rendition: Rendition) {
      self.rendition = rendition
    }

    func consume(_ sample: EncodedSample) {}
    func streamEnded() {}
  }

  private let table = BroadcasterTable<Output>()

  @Test func `a stream is found by itself and by its name until it is removed`() {
    let (first, second) = (Output(LiveStream("a").main), Output(LiveStream("b").main))
    for output in [first, second] { self.table.publish(output) }
    #expect(self.table.streams.map(\.name) == ["a", "b"])
    #expect(self.table.broadcaster(of: second.rendition) === second)
    #expect(self.table.stream(named: "a") === first.stream && self.table.stream(named: "c") == nil)
    self.table.unpublish(first.stream)
    #expect(self.table.stream(named: "a") == nil && self.table.broadcaster(of: first.rendition) == nil)
    self.table.remove(second)
    #expect(self.table.all.isEmpty)
  }

  @Test func `a rendition is found by its path, and has one output while its stream is published`() async throws {
    let low = RenditionSettings(name: "low", width: 32, height: 24, bitrate: 100_000)
    // A name whose bytes are more than its characters.
    let stream = LiveStream("käm", video: VideoSettings(renditions: .list([low])))
    stream.attachVideo(BarsCapturer(width: 64, height: 48))
    try await stream.start()
    self.table.publish(Output(stream.main))
    let rendition = try #require(self.table.rendition(atPath: "käm/low"))
    #expect(rendition.name == "low" && !rendition.isMain && self.table.rendition(atPath: "low") == rendition)
    for path in ["", "käm", "käm/main", "main"] {
      #expect(self.table.rendition(atPath: path) == stream.main, "\(path)")
    }
    for path in ["käm/", "käm/other", "käm/main/main", "other/low", "other/main", "other"] {
      #expect(self.table.rendition(atPath: path) == nil, "\(path)")
    }
    #expect(self.table.broadcaster(of: rendition) == nil && self.table.broadcaster(atPath: "low") == nil)
    let output = try #require(await self.find("käm/low"))
    #expect(await self.find("low") === output && self.table.broadcaster(atPath: "käm/low") === output)
    #expect(self.table.broadcaster(of: rendition) === output && self.table.all.count == 2)
    #expect(await self.find("main") === self.table.broadcaster(of: stream.main))
    self.table.unpublish(stream)
    #expect(self.table.all.isEmpty)
    #expect(await self.find("low") == nil)
    await stream.stop()
  }

  private func find(_ path: String) async -> Output? {
    await withCheckedContinuation { continuation in
      self.table.find(path, making: { rendition, _ in Output(rendition) }) {
        continuation.resume(returning: $0)
      }
    }
  }
}
