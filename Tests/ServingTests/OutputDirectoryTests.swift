import Capture
import Media
import NIOEmbedded
import Serving
import Streaming
import Testing

@Suite("Served streams of a server", .timeLimit(.minutes(5)))
struct OutputDirectoryTests {
  /// An output without viewers.
  private final class Output: ServedOutput {
    let rendition: Rendition
    let requested: Rendition
    let onEnd: @Sendable (Output) -> Void

    init(_ rendition: Rendition, inPlaceOf requested: Rendition? = nil, onEnd: @escaping @Sendable (Output) -> Void) {
      self.rendition = rendition
      self.requested = requested ?? rendition
      self.onEnd = onEnd
    }

    /// One viewer more than its name has characters.
    var statistics: ViewerStatistics {
      var statistics = ViewerStatistics()
      statistics.viewers = self.rendition.name.count + 1
      return statistics
    }

    func consume(_ sample: EncodedSample) {}
    func streamEnded() { self.onEnd(self) }
  }

  private let directory = OutputDirectory<Output>(eventLoops: [EmbeddedEventLoop()]) { directory, rendition, _ in
    Output(rendition, onEnd: directory.onEnd)
  }

  @Test func `a stream is found by itself and by its name until it is removed or ends`() throws {
    let (first, second) = (LiveStream("a"), LiveStream("b"))
    for stream in [first, second] { self.directory.serve(stream, descriptions: []) }
    #expect(self.directory.all.map(\.name) == ["a", "b"])
    #expect(self.directory.output(of: second.main)?.stream === second)
    #expect(self.directory.stream(named: "a") === first && self.directory.stream(named: "c") == nil)
    #expect(self.directory.stream(named: "") == nil)
    #expect(self.directory.stream(named: "", isFirstUnnamed: true) === first)
    #expect(self.directory.stream(named: "b", isFirstUnnamed: true) === second)
    self.directory.stopServing(first)
    #expect(self.directory.stream(named: "a") == nil && self.directory.output(of: first.main) == nil)
    try #require(self.directory.output(of: second.main)).streamEnded()
    #expect(self.directory.all.isEmpty)
  }

  @Test func `a rendition is found by its path, and has one output while its stream is served`() async throws {
    let low = RenditionSettings(name: "low", width: 32, height: 24, bitrate: 100_000)
    // A name whose bytes are more than its characters.
    let stream = LiveStream("käm", video: VideoSettings(renditions: .list([low])))
    stream.attachVideo(BarsCapturer(width: 64, height: 48))
    try await stream.start()
    self.directory.serve(stream)
    let rendition = try #require(self.directory.rendition(atPath: "käm/low"))
    #expect(rendition.name == "low" && !rendition.isMain && self.directory.rendition(atPath: "low") == rendition)
    for path in ["", "käm", "käm/main", "main"] {
      #expect(self.directory.rendition(atPath: path) == stream.main, "\(path)")
    }
    for path in ["käm/", "käm/other", "käm/main/main", "other/low", "other/main", "other"] {
      #expect(self.directory.rendition(atPath: path) == nil, "\(path)")
    }
    #expect(self.directory.output(of: rendition) == nil && self.directory.output(atPath: "low") == nil)
    #expect(self.directory.statistics(of: rendition).viewers == 0)
    let output = try #require(await self.find("käm/low"))
    #expect(await self.find("low") === output && self.directory.output(atPath: "käm/low") === output)
    #expect(await self.find("other", "low") === output)
    #expect(self.directory.output(of: rendition) === output && self.directory.all.count == 2)
    #expect(await self.find("main") === self.directory.output(of: stream.main))
    #expect(self.directory.statistics(of: rendition).viewers == 4)
    #expect(self.directory.statistics(of: stream).viewers == 9)
    output.streamEnded()
    #expect(self.directory.output(of: rendition) == nil && self.directory.output(of: stream.main) != nil)
    self.directory.stopServing(stream)
    #expect(self.directory.all.isEmpty)
    #expect(await self.find("low") == nil)
    await stream.stop()
  }

  @Test func `an encoding in place of a rendition counts for that one`() async throws {
    let stream = LiveStream("a", video: VideoSettings(bitrate: 300_000))
    stream.attachVideo(BarsCapturer(width: 64, height: 48))
    try await stream.start()
    self.directory.serve(stream)
    let other = try #require(
      stream.makePrivateRendition(
        like: stream.main, bitrate: 100_000, profile: .baseline, maximumSliceLength: nil, isForViewers: true))
    let found = await withCheckedContinuation { continuation in
      self.directory.find(
        other, making: { directory, other, _ in Output(other, inPlaceOf: stream.main, onEnd: directory.onEnd) },
        { output in continuation.resume(returning: output?.requested) })
    }
    #expect(found == stream.main && self.directory.statistics(of: other).viewers == 0)
    #expect(self.directory.statistics(of: stream.main).viewers == 5 + other.name.count + 1)
    await stream.stop()
  }

  private func find(_ paths: String...) async -> Output? {
    await withCheckedContinuation { continuation in
      self.directory.find(paths) { continuation.resume(returning: $0) }
    }
  }
}
