import Capture
import Foundation
import Media
import TestSupport
import Testing

@testable import MediaInput

@Suite("Network source that begins with seconds at once", .timeLimit(.minutes(5)))
struct SourceStartTests {
  /// A connection with 57 frames of 40 ms, one of which comes each 200 µs.
  // Safe because one thread uses it.
  private final class Connection: NetworkConnection, @unchecked Sendable {
    let tracks = NetworkTracks(video: nil)
    let pace: SourceTimeline.Pace
    let interrupt = LibavInterrupt()
    let clock = ManualClock()
    private var count: Int64 = 0

    init(_ pace: SourceTimeline.Pace) { self.pace = pace }

    func read() throws(VidiconError) -> NetworkItem? {
      guard self.count < 57 else { return .ended }
      defer { self.count += 1 }
      self.clock.advance(by: .microseconds(200))
      let time = MediaTime.zero + .milliseconds(self.count * 40)
      return .packet(PlayoutBufferTests.packet(.video, isKeyframe: self.count == 0, due: time))
    }
  }

  /// Times at which a session shows the frames of a connection, in microseconds on its clock.
  private static func shown(_ pace: SourceTimeline.Pace, startWaits: Bool) throws -> [Int64] {
    let connection = Connection(pace)
    let session = NetworkSession(
      nil, connectsLater: false, specification: try NetworkSpecification(parsing: "http://127.0.0.1/"),
      consumers: NetworkConsumers(), audioFormat: nil
    ) { _ in }
    var timeline = SourceTimeline()
    var count = 0
    let hasEnded = try session.read(
      connection, &timeline, startWaits: startWaits, onPacket: { count += 1 }, now: { connection.clock.now })
    try #require(hasEnded && count == 57)
    guard case .tracks = session.buffer.next() else { throw TestMedia.Failure(description: "no tracks") }
    // All are due: the clock of the machine is far beyond that of the connection.
    let packets = (0..<57).compactMap { _ in PlayoutBufferTests.take(session.buffer) }
    return packets.map { ($0.times.decode - MediaTime.zero).nanoseconds / 1_000 }
  }

  @Test(arguments: [SourceTimeline.Pace.camera, .pulled, .unheld])
  func `at the start of a session frames keep their distances, and the newest one has its arrival`(
    pace: SourceTimeline.Pace
  ) throws {
    let times = try Self.shown(pace, startWaits: true)
    let expected = (0..<57 as Range<Int64>).map { 57 * 200 - (56 - $0) * 40_000 }
    #expect(times == expected)
  }

  @Test func `after a loss frames have the times of their arrival`() throws {
    let times = try Self.shown(.pulled, startWaits: false)
    let expected = (1...57 as ClosedRange<Int64>).map { $0 * 200 }
    #expect(times == expected)
  }

  /// A server that sends four seconds at once over each connection: of those, five may come early.
  private static func server(staysOpen: Bool) throws -> LocalServer {
    let path = try TestMedia.path(
      "at-once.flv",
      [
        "-f", "lavfi", "-i", "testsrc=s=160x96:r=25:d=4", "-f", "lavfi", "-i", "sine=f=440:r=48000:d=4", "-c:v",
        "libx264", "-preset", "ultrafast", "-bf", "0", "-g", "25", "-pix_fmt", "yuv420p", "-c:a", "aac",
      ])
    let bytes = [UInt8](try Data(contentsOf: URL(filePath: path)))
    return try LocalServer { connection in
      _ = connection.readHead()
      connection.write("HTTP/1.1 200 OK\r\n\r\n")
      connection.write(bytes)
      if staysOpen { connection.waitForEnd() }
    }
  }

  private static func isEven(_ samples: some Collection<EncodedSample>) -> Bool {
    zip(samples, samples.dropFirst()).allSatisfy {
      abs(($1.decodeTime - $0.decodeTime).nanoseconds - 40_000_000) < 1_500_000
    }
  }

  @Test(arguments: [false, true]) func `what a server sends at once is delivered with its distances`(isTriedLater: Bool)
    throws
  {
    let server = try Self.server(staysOpen: true)
    let url = "http://127.0.0.1:\(server.port)/live.flv"
    // A machine that halts for 30 ms amid the packets lets the rest come as after a pause: then with another connection.
    for _ in 0..<20 {
      let formats = NetworkSource.AssumedFormats(
        video: VideoFormat(width: 160, height: 96, pixelFormat: .i420, frameRate: 25),
        audio: AudioFormat(sampleRate: 48_000, channelCount: 1))
      let specification = try NetworkSpecification(parsing: url)
      let source = try isTriedLater ? NetworkSource(specification, until: formats) : NetworkSource(specification)
      let collector = SampleCollector()
      try #require(source.video).start(consumer: collector)
      let samples = collector.wait { $0.samples.count >= 90 }.samples.prefix(90)
      source.video?.stop()
      try #require(samples.count == 90 && samples.first?.isKeyframe == true)
      if Self.isEven(samples) { return }
    }
    Issue.record("no connection had even distances")
  }

  @Test func `what a server sends at once after a loss is not placed before that`() throws {
    let server = try Self.server(staysOpen: false)
    let source = try NetworkSource(url: "http://127.0.0.1:\(server.port)/live.flv")
    let collector = SampleCollector()
    try #require(source.video).start(consumer: collector)
    let state = collector.wait { state in state.countsAtEnds.first.map { state.samples.count >= $0 + 50 } ?? false }
    source.video?.stop()
    let count = try #require(state.countsAtEnds.first)
    let again = state.samples.dropFirst(count)
    try #require(count > 50 && again.count >= 50)
    let last = state.samples[count - 1].decodeTime
    #expect(again.allSatisfy { $0.decodeTime > last })
  }
}
