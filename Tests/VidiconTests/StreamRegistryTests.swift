import Media
import Testing

@testable import Vidicon

@Suite("Streams of a server")
struct StreamRegistryTests {
  private func stream(_ name: String) -> LiveStream {
    let stream = LiveStream(name)
    stream.attachAudio(SilenceCapturer())
    return stream
  }

  private func code(_ body: () throws -> Void) -> VidiconError.Code? {
    do {
      try body()
      return nil
    } catch {
      return (error as? VidiconError)?.code
    }
  }

  @Test func `a name is reserved once, also while its stream starts, and other names stay free`() {
    let streams = StreamRegistry()
    let (first, second, other) = (self.stream("a"), self.stream("a"), self.stream("b"))
    #expect(self.code { try streams.reserve(first) } == nil)
    #expect(self.code { try streams.reserve(first) } == .alreadyExists)
    #expect(self.code { try streams.reserve(second) } == .alreadyExists)
    #expect(self.code { try streams.reserve(other) } == nil)
    #expect(streams.served.map(\.name) == ["a", "b"])
    // A start that failed frees the name, and what was attached stays.
    let effects = StreamEffects(first)
    streams.update(first) { $0.effects = effects }
    streams.cancelReservation(of: first)
    #expect(streams.served.map(\.name) == ["b"])
    #expect(streams[first]?.effects === effects && streams[first]?.phase == .attached)
    #expect(self.code { try streams.reserve(second) } == nil)
    #expect(streams.served.map(ObjectIdentifier.init) == [other, second].map(ObjectIdentifier.init))
  }

  @Test func `a stream and a rendition, also the main one, of the same path are refused`() {
    for (first, second) in [("a", "a/main"), ("a/main", "a"), ("a", "a/low"), ("a/low", "a")] {
      let streams = StreamRegistry()
      #expect(self.code { try streams.reserve(self.stream(first)) } == nil)
      #expect(self.code { try streams.reserve(self.stream(second)) } == .alreadyExists, "\(second)")
      #expect(self.code { try streams.reserve(self.stream("a/other")) } == nil)
    }
  }

  @Test func `removing a stream removes everything that was attached to it`() {
    let streams = StreamRegistry()
    let stream = self.stream("a")
    streams.update(stream) { $0.sources = StreamSources(stream, video: "plasma") }
    #expect(streams[stream]?.sources?.video == "plasma" && streams.served.isEmpty)
    streams.remove(stream)
    #expect(streams[stream] == nil)
    #expect(streams.controls(of: stream).sources == nil)
  }

  @Test func `only a stream on the network is changed as served`() throws {
    let streams = StreamRegistry()
    let stream = self.stream("a")
    let service = try Service(stream: "a", path: "/a", kind: .rtsp, port: 8554, host: "myhost")
    streams.updateServed(stream) { $0.services = [service] }
    #expect(streams[stream] == nil)
    streams.update(stream) { _ in }
    streams.updateServed(stream) { $0.services = [service] }
    #expect(streams[stream]?.services == [])
    try streams.reserve(stream)
    streams.updateServed(stream) { $0.services = [service] }
    #expect(streams[stream]?.services == [service])
    // The end returns the services to withdraw, once.
    #expect(streams.end(stream) == [service])
    #expect(streams.end(stream) == [] && streams[stream]?.phase == .ended)
    streams.updateServed(stream) { $0.services = [service] }
    #expect(streams[stream]?.services == [])
    #expect(streams.end(self.stream("b")) == [])
  }

  @Test func `the recorders of streams that have ended are still known`() throws {
    let streams = StreamRegistry()
    let (stream, other) = (self.stream("a"), self.stream("b"))
    let recorder = Recorder(stream, settings: RecordingSettings(try FilePattern("a.mp4")))
    streams.update(stream) { $0.recorder = recorder }
    streams.update(other) { _ in }
    try streams.reserve(stream)
    _ = streams.end(stream)
    #expect(streams.recorders.map(ObjectIdentifier.init) == [ObjectIdentifier(recorder)])
    #expect(streams.controls(of: stream).recording != nil && streams.controls(of: other).recording == nil)
  }

  @Test func `the name of a stream that has ended is free for another one, whose services it does not withdraw`()
    async throws
  {
    let streams = StreamRegistry()
    let (first, second) = (self.stream("a"), self.stream("a"))
    try streams.reserve(first)
    try await first.start()
    let service = try Service(stream: "a", path: "/a", kind: .http, port: 8080, host: "myhost")
    streams.updateServed(first) { $0.services = [service] }
    await first.stop()
    try streams.reserve(second)
    #expect(streams.served.map(ObjectIdentifier.init) == [ObjectIdentifier(second)])
    #expect(streams.end(first) == [])
  }
}
