import Capture
import Media
import Testing

@testable import Streaming

@Suite("Published streams of a server", .timeLimit(.minutes(5)))
struct BroadcasterTableTests {
  /// An output without viewers.
  private final class Output: StreamBroadcaster {
    let stream: LiveStream
    let rendition: StreamRendition?

    init(_ stream: LiveStream, _ rendition: StreamRendition? = nil) {
      self.stream = stream
      self.rendition = rendition
    }

    func consume(_ sample: EncodedSample) {}
    func streamEnded() {}
  }

  private let table = BroadcasterTable<Output>()

  @Test func `a stream is found by itself and by its name until it is removed`() {
    let (first, second) = (Output(LiveStream("a")), Output(LiveStream("b")))
    for output in [first, second] { self.table.publish(output) }
    #expect(self.table.streams.map(\.name) == ["a", "b"])
    #expect(self.table.broadcaster(of: second.stream) === second)
    #expect(self.table.stream(named: "a") === first.stream && self.table.stream(named: "c") == nil)
    self.table.unpublish(first.stream)
    #expect(self.table.stream(named: "a") == nil && self.table.broadcaster(of: first.stream) == nil)
    self.table.remove(second)
    #expect(self.table.all.isEmpty)
  }

  @Test func `a rendition is found by its path, and has one output while its stream is published`() async throws {
    let low = RenditionSettings(name: "low", width: 32, height: 24, bitrate: 100_000)
    // A name whose bytes are more than its characters.
    let stream = LiveStream("käm", video: VideoSettings(renditions: .list([low])))
    stream.attachVideo(BarsCapturer(width: 64, height: 48))
    try await stream.start()
    self.table.publish(Output(stream))
    let found = try #require(self.table.rendition(atPath: "käm/low"))
    #expect(found.stream === stream && found.rendition.name == "low")
    for path in ["käm", "käm/", "käm/other", "other/low", "low"] {
      #expect(self.table.rendition(atPath: path)?.rendition.name == nil, "\(path)")
    }
    #expect(self.table.broadcaster(of: found.rendition) == nil)
    let output = Output(stream, found.rendition)
    #expect(self.table.add(output, of: found.rendition) === output)
    #expect(self.table.add(Output(stream, found.rendition), of: found.rendition) === output)
    #expect(self.table.broadcaster(of: found.rendition) === output && self.table.all.count == 2)
    self.table.unpublish(stream)
    #expect(self.table.all.isEmpty)
    #expect(self.table.add(Output(stream, found.rendition), of: found.rendition) == nil)
    await stream.stop()
  }
}
