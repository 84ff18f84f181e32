import HLSRules
import Media
import NIOCore
import Testing

@testable import HLS

@Suite("Streams of HLS that another process continues")
struct HLSSuspendedStreamsTests {
  /// Bytes of a stream with viewers that runs for some seconds.
  private static func suspended(
    after milliseconds: Int64 = 8_300, _ settings: StreamSimulation.Settings = .init()
  ) throws -> (simulation: StreamSimulation, bytes: ByteBuffer) {
    var simulation = StreamSimulation(settings)
    simulation.run(until: milliseconds)
    let suspended = simulation.stream.suspend()
    let state = try #require(suspended)
    return (simulation, Self.bytes(of: [state]))
  }

  private static func bytes(of states: [HLSStreamState]) -> ByteBuffer {
    var bytes = ByteBuffer()
    let streams = states.enumerated().map { index, state in
      HLSSuspendedStreams.Stream(name: "door/\(index + 1)", isProtected: true, state: state)
    }
    HLSSuspendedStreams(unixTime: .seconds(1_800_000_000), streams: streams).serialize(into: &bytes)
    return bytes
  }

  private static func state(of bytes: ByteBuffer) throws -> HLSStreamState {
    try #require(try HLSSuspendedStreams(parsing: bytes).streams.first).state
  }

  /// Replaces the stream of a simulation by one that continues it some time later.
  private static func resume(
    _ simulation: inout StreamSimulation, _ state: HLSStreamState, after pause: Int64,
    _ settings: StreamSimulation.Settings
  ) {
    simulation.settings = settings
    var configuration = StreamSimulation.configuration
    configuration.token = "other"
    simulation.stream = HLSStream(
      StreamSimulation.descriptions(settings), configuration: configuration, resuming: state,
      at: simulation.now + .milliseconds(pause))
  }

  /// Broken rules, but for the hint at the part that was growing, which may have come to nothing.
  private static func violations(of simulation: StreamSimulation) -> [HLSViolation] {
    simulation.violations.filter { $0.rule != .preloadHint }
  }

  private static func text(_ file: String, of simulation: inout StreamSimulation) throws -> String {
    let text = simulation.text(file)
    return try #require(text)
  }

  private static func tag(_ name: String, in playlist: String) -> Int? {
    playlist.split(separator: "\n").first { $0.hasPrefix("#\(name):") }.flatMap { Int($0.dropFirst(name.count + 2)) }
  }

  @Test func `bytes have all of a stream`() throws {
    let (_, bytes) = try Self.suspended()
    let streams = try HLSSuspendedStreams(parsing: bytes)
    #expect(streams.unixTime == .seconds(1_800_000_000))
    let stream = try #require(streams.streams.first)
    #expect(streams.streams.count == 1 && stream.name == "door/1" && stream.isProtected)
    #expect(stream.state.token == "a1b2" && stream.state.targetSeconds == 1)
    // More than the six of MPEG-TS: those that only the low-latency playlist has, too.
    #expect(stream.state.segments.map(\.number) == Array(0..<stream.state.nextNumber) && stream.state.nextNumber > 6)
    #expect(stream.state.retiredCount == 0 && streams.problems == [])
    var again = ByteBuffer()
    streams.serialize(into: &again)
    #expect(again == bytes)
  }

  @Test func `every prefix is refused, and bytes behind the end`() throws {
    let (_, bytes) = try Self.suspended(after: 2_000)
    for length in stride(from: 0, to: bytes.readableBytes, by: bytes.readableBytes > 1000 ? 7 : 1) {
      #expect(throws: ParsingError.self) {
        try HLSSuspendedStreams(parsing: bytes.getSlice(at: bytes.readerIndex, length: length) ?? ByteBuffer())
      }
    }
    var longer = bytes
    longer.writeInteger(UInt8(0))
    #expect(throws: ParsingError.self) { try HLSSuspendedStreams(parsing: longer) }
  }

  @Test func `a stream that ends early is left out alone`() throws {
    let bytes = Array(try Self.suspended(after: 2_000).bytes.readableBytesView)
    // Signature, version, time, and number of streams; the length of the stream in four bytes; the signature at the end.
    let (head, body, end) = (bytes.prefix(15), bytes.dropFirst(19).dropLast(4), bytes.suffix(4))
    // A stream has a length of at least one byte.
    for length in stride(from: 1, to: body.count, by: body.count > 1000 ? 7 : 1) {
      var shorter = ByteBuffer(bytes: head)
      shorter.writeInteger(UInt32(length))
      shorter.writeBytes(body.prefix(length) + end)
      let streams = try HLSSuspendedStreams(parsing: shorter)
      #expect(streams.streams.isEmpty && streams.problems.count == 1, "\(length) bytes")
    }
  }

  @Test func `another version is refused`() throws {
    var (_, bytes) = try Self.suspended(after: 2_000)
    bytes.setInteger(UInt8(2), at: 4)
    let error = #expect(throws: ParsingError.self) { try HLSSuspendedStreams(parsing: bytes) }
    #expect(error?.code == .unsupported && error?.field == "version")
  }

  @Test func `players wait for a minute`() {
    let streams = HLSSuspendedStreams(unixTime: .seconds(1_000), streams: [])
    #expect(streams.isRecent(at: .seconds(1_000)) && streams.isRecent(at: .seconds(1_059)))
    // The clock was set, or it is too late.
    #expect(!streams.isRecent(at: .seconds(1_060)) && !streams.isRecent(at: .seconds(999)))
  }

  @Test func `old segments stay in the playlists, and the next one follows a discontinuity with the next number`()
    throws
  {
    let settings = StreamSimulation.Settings()
    var (simulation, bytes) = try Self.suspended(after: 8_300, settings)
    let old = try Self.text("playlist.m3u8", of: &simulation)
    let state = try Self.state(of: bytes)
    Self.resume(&simulation, state, after: 0, settings)
    // Before the first sample.
    let restored = try Self.text("playlist.m3u8", of: &simulation)
    #expect(restored == old)
    let live = try Self.text("live.m3u8", of: &simulation)
    #expect(live.contains("#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"a1b2-\(state.nextNumber).0.m4s\"\n"))
    simulation.fetchesFiles = true
    simulation.run(until: 12_000)
    let next = try Self.text("playlist.m3u8", of: &simulation)
    let lines = next.split(separator: "\n")
    let index = try #require(lines.firstIndex(of: "a1b2-\(state.nextNumber).ts"))
    #expect(lines[index - 3] == "#EXT-X-DISCONTINUITY")
    #expect(lines[..<index].contains("a1b2-\(state.nextNumber - 1).ts"))
    #expect(lines[(index + 1)...].contains("a1b2-\(state.nextNumber + 1).ts"))
    #expect(!lines[(index + 1)...].contains("#EXT-X-DISCONTINUITY"))
    // The rules of constant targets, numbers, discontinuities and files, over both processes.
    #expect(Self.violations(of: simulation) == [])
  }

  @Test func `numbers never decrease, and the discontinuity sequence counts what has left the playlist`() throws {
    let settings = StreamSimulation.Settings()
    var simulation = StreamSimulation(settings)
    var (sequence, discontinuities) = (0, 0)
    for restart in 1...4 {
      simulation.run(until: Int64(restart) * 9_000)
      for file in simulation.watched {
        let playlist = try Self.text(file, of: &simulation)
        let first = try #require(Self.tag("EXT-X-MEDIA-SEQUENCE", in: playlist))
        #expect(first >= sequence)
        guard file == "playlist.m3u8" else { continue }
        sequence = first
        discontinuities = try #require(Self.tag("EXT-X-DISCONTINUITY-SEQUENCE", in: playlist))
        // Six segments of a second are from after the restart before.
        #expect(discontinuities == restart - 1)
      }
      let suspended = simulation.stream.suspend()
      let state = try #require(suspended)
      Self.resume(&simulation, state, after: 0, settings)
    }
    #expect(Self.violations(of: simulation) == [])
  }

  @Test func `entity tags of another process are other ones`() throws {
    var simulation = StreamSimulation()
    simulation.run(until: 8_300)
    var tags: [String] = []
    for isResumed in [false, true] {
      if isResumed {
        let suspended = simulation.stream.suspend()
        Self.resume(&simulation, try #require(suspended), after: 0, .init())
      }
      for file in simulation.watched {
        guard case .content(let content)? = simulation.ask(file) else { continue }
        tags.append(content.etag)
      }
    }
    #expect(tags.count == 4 && Set(tags).count == 4, "\(tags)")
  }

  @Test func `of codecs with another part target only names and numbers are continued`() throws {
    var (simulation, bytes) = try Self.suspended()
    let state = try Self.state(of: bytes)
    var settings = StreamSimulation.Settings()
    settings.frameRate = FrameRate(2)
    Self.resume(&simulation, state, after: 0, settings)
    #expect(simulation.stream.statistics.windowSegments == 0 && simulation.stream.isActive)
    #expect(simulation.ask("a1b2-\(state.nextNumber - 1).ts") == .gone)
    #expect(simulation.ask("a1b2-init1.mp4") == .gone)
  }

  @Test func `a stream without viewers, and one that has ended, has nothing to continue`() {
    var simulation = StreamSimulation()
    let inactive = simulation.stream.suspend()
    #expect(inactive == nil)
    simulation = StreamSimulation()
    simulation.run(until: 4_000)
    let effects = simulation.stream.end()
    simulation.perform(effects)
    let ended = simulation.stream.suspend()
    #expect(ended == nil)
  }

  @Test func `a stream that another process continues waits a minute for its players, then as long as others`() throws {
    var (simulation, bytes) = try Self.suspended()
    let state = try Self.state(of: bytes)
    /// Whether it is active without requests for some time.
    func isActive(after seconds: Int64) -> Bool {
      var stream = simulation.stream
      _ = stream.advance(to: simulation.now + .seconds(seconds))
      return stream.isActive
    }
    Self.resume(&simulation, state, after: 0, .init())
    #expect(isActive(after: 59) && !isActive(after: 60))
    _ = simulation.ask("playlist.m3u8")
    #expect(isActive(after: 9) && !isActive(after: 10))
  }

  @Test func `segments that have left the playlist can still be fetched, and are not listed again`() throws {
    let settings = StreamSimulation.Settings()
    var (simulation, bytes) = try Self.suspended(after: 30_000, settings)
    let state = try Self.state(of: bytes)
    try #require(state.retiredCount > 2)
    Self.resume(&simulation, state, after: 0, settings)
    let live = try Self.text("live.m3u8", of: &simulation)
    let first = state.segments[state.retiredCount].number
    #expect(Self.tag("EXT-X-MEDIA-SEQUENCE", in: live) == first)
    for number in [state.segments[0].number, first - 1, first] {
      for name in ["a1b2-\(number).ts", "a1b2-\(number).m4s", "a1b2-\(number).0.m4s"] {
        guard case .content? = simulation.ask(name) else {
          Issue.record("\(name) is missing")
          continue
        }
      }
    }
    #expect(simulation.ask("a1b2-\(state.segments[0].number - 1).ts") == .gone)
    simulation.fetchesFiles = true
    simulation.run(until: 40_000)
    #expect(Self.violations(of: simulation) == [])
  }

  @Test func `segments of another process are gone once faces are private, and numbers go on`() throws {
    let settings = StreamSimulation.Settings()
    var (simulation, bytes) = try Self.suspended(after: 8_300, settings)
    let state = try Self.state(of: bytes)
    Self.resume(&simulation, state, after: 0, settings)
    let effects = simulation.stream.discardEarlier()
    simulation.perform(effects)
    for segment in state.segments { #expect(simulation.ask("a1b2-\(segment.number).ts") == .gone) }
    simulation.run(until: 12_000)
    let playlist = try Self.text("live.m3u8", of: &simulation)
    #expect(Self.tag("EXT-X-MEDIA-SEQUENCE", in: playlist) == state.nextNumber)
  }

  @Test func `of more bytes than are to be left the first segments are not`() throws {
    var simulation = StreamSimulation()
    simulation.run(until: 8_300)
    var stream = simulation.stream
    let whole = stream.suspend()
    let all = try #require(whole)
    let limit = all.segments.suffix(2).reduce(0) { $0 + $1.byteCount }
    stream = simulation.stream
    let part = stream.suspend(maximumByteCount: limit)
    let some = try #require(part)
    #expect(some.segments.map(\.number) == all.segments.suffix(2).map(\.number))
    #expect(try Self.state(of: Self.bytes(of: [some])).segments.count == 2)
  }

  @Test(arguments: [40, 540] as [Int64])
  func `whenever a stream stops, its last segment can be continued, also where video is late`(delay: Int64) throws {
    var settings = StreamSimulation.Settings()
    settings.videoDelay = .milliseconds(delay)
    var simulation = StreamSimulation(settings)
    for time in stride(from: Int64(4_000), through: 8_000, by: 50) {
      simulation.run(until: time)
      var stream = simulation.stream
      let suspended = stream.suspend()
      let state = try #require(suspended, "at \(time) ms")
      let read = try HLSSuspendedStreams(parsing: Self.bytes(of: [state]))
      #expect(read.problems == [] && read.streams.count == 1, "at \(time) ms")
      #expect(state.segments.last?.number == state.nextNumber - 1, "at \(time) ms")
    }
  }

  @Test func `a stream that breaks a rule is left out, and the others are continued`() throws {
    let state = try Self.state(of: Self.suspended().bytes)
    var long = state
    let parts = state.segments[0].parts
    long.segments[0].parts = Array(repeatElement(parts, count: 10).joined())
    let read = try HLSSuspendedStreams(parsing: Self.bytes(of: [state, long, state]))
    #expect(read.streams.map(\.name) == ["door/1", "door/3"])
    #expect(read.problems.map(\.field) == ["segment duration"])
  }

  @Test func `the main rendition of a group is continued, and all stop`() throws {
    var simulation = StreamSimulation()
    simulation.run(until: 4_000)
    var group = HLSStreamGroup(simulation.stream)
    var configuration = StreamSimulation.configuration
    configuration.token = "small"
    group.add("small", StreamSimulation.descriptions(.init()), configuration: configuration)
    let request = try #require(HLSRequest(file: "live.m3u8", query: "", arrival: simulation.now))
    _ = group.respond(to: request, of: "small", at: simulation.now)
    #expect(group.areRenditionsActive)
    let suspended = group.suspend()
    let state = try #require(suspended)
    #expect(state.token == "a1b2" && !group.isActive)
  }
}
