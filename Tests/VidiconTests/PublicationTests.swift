import Media
import Testing

@testable import Vidicon

@Suite("Publications of a server")
struct PublicationTests {
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
    let publications = Publications()
    let (first, second, other) = (self.stream("a"), self.stream("a"), self.stream("b"))
    #expect(self.code { try publications.reserve(first) } == nil)
    #expect(self.code { try publications.reserve(first) } == .alreadyExists)
    #expect(self.code { try publications.reserve(second) } == .alreadyExists)
    #expect(self.code { try publications.reserve(other) } == nil)
    #expect(publications.published.map(\.name) == ["a", "b"])
    // A start that failed frees the name, and what was attached stays.
    let effects = StreamEffects(first)
    publications.update(first) { $0.effects = effects }
    publications.cancelReservation(of: first)
    #expect(publications.published.map(\.name) == ["b"])
    #expect(publications[first]?.effects === effects && publications[first]?.phase == .attached)
    #expect(self.code { try publications.reserve(second) } == nil)
    #expect(publications.published.map(ObjectIdentifier.init) == [other, second].map(ObjectIdentifier.init))
  }

  @Test func `a stream and a rendition, also the main one, of the same path are refused`() {
    for (first, second) in [("a", "a/main"), ("a/main", "a"), ("a", "a/low"), ("a/low", "a")] {
      let publications = Publications()
      #expect(self.code { try publications.reserve(self.stream(first)) } == nil)
      #expect(self.code { try publications.reserve(self.stream(second)) } == .alreadyExists, "\(second)")
      #expect(self.code { try publications.reserve(self.stream("a/other")) } == nil)
    }
  }

  @Test func `removing a stream removes everything that was attached to it`() {
    let publications = Publications()
    let stream = self.stream("a")
    publications.update(stream) { $0.sources = StreamSources(stream, video: "plasma") }
    #expect(publications[stream]?.sources?.video == "plasma" && publications.published.isEmpty)
    publications.remove(stream)
    #expect(publications[stream] == nil)
    #expect(publications.controls(of: stream).sources == nil)
  }

  @Test func `only a stream on the network is changed as published`() throws {
    let publications = Publications()
    let stream = self.stream("a")
    let service = try Service(stream: "a", path: "/a", kind: .rtsp, port: 8554, host: "myhost")
    publications.updatePublished(stream) { $0.services = [service] }
    #expect(publications[stream] == nil)
    publications.update(stream) { _ in }
    publications.updatePublished(stream) { $0.services = [service] }
    #expect(publications[stream]?.services == [])
    try publications.reserve(stream)
    publications.updatePublished(stream) { $0.services = [service] }
    #expect(publications[stream]?.services == [service])
    // The end returns the services to withdraw, once.
    #expect(publications.end(stream) == [service])
    #expect(publications.end(stream) == [] && publications[stream]?.phase == .ended)
    publications.updatePublished(stream) { $0.services = [service] }
    #expect(publications[stream]?.services == [])
    #expect(publications.end(self.stream("b")) == [])
  }

  @Test func `the recorders of streams that have ended are still known`() throws {
    let publications = Publications()
    let (stream, other) = (self.stream("a"), self.stream("b"))
    let recorder = Recorder(stream, settings: RecordingSettings(try FilePattern("a.mp4")))
    publications.update(stream) { $0.recorder = recorder }
    publications.update(other) { _ in }
    try publications.reserve(stream)
    _ = publications.end(stream)
    #expect(publications.recorders.map(ObjectIdentifier.init) == [ObjectIdentifier(recorder)])
    #expect(publications.controls(of: stream).recording != nil && publications.controls(of: other).recording == nil)
  }

  @Test func `the name of a stream that has ended is free for another one, whose services it does not withdraw`()
    async throws
  {
    let publications = Publications()
    let (first, second) = (self.stream("a"), self.stream("a"))
    try publications.reserve(first)
    try await first.start()
    let service = try Service(stream: "a", path: "/a", kind: .http, port: 8080, host: "myhost")
    publications.updatePublished(first) { $0.services = [service] }
    await first.stop()
    try publications.reserve(second)
    #expect(publications.published.map(ObjectIdentifier.init) == [ObjectIdentifier(second)])
    #expect(publications.end(first) == [])
  }
}
