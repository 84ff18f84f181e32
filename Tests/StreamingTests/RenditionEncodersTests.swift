import Codecs
import Media
import NIOCore
import Synchronization
import TestSupport
import Testing
import Threading

@testable import Streaming

@Suite("Encoders of renditions that fail or hang", .timeLimit(.minutes(5)))
struct RenditionEncodersTests {
  /// An encoder that has no parameter sets before its first frame.
  private final class LateEncoder: VideoEncoder {
    private let encoder: LibavH264Encoder
    private(set) var description: H264Description?

    init(_ settings: VideoEncoderSettings) throws(VidiconError) { self.encoder = try LibavH264Encoder(settings) }

    func encode(_ frame: ReleasedFrame, forcesKeyframe: Bool, emit: (EncodedSample) -> Void) throws(VidiconError) {
      try self.encoder.encode(frame, forcesKeyframe: forcesKeyframe) {
        self.description = self.encoder.description
        emit($0)
      }
    }

    func setBitrate(_ bitrate: Int) { self.encoder.setBitrate(bitrate) }
  }

  private static let busy = VidiconError(.busy, subject: "encoder", cause: "it is in use", nextStep: "wait")

  private let encoders = RenditionEncoders()

  private func rendition(
    retryDelay: MediaDuration = .seconds(10), report: @escaping @Sendable (StreamEvent) -> Void = { _ in },
    requestFrame: @escaping @Sendable () -> Void = {}
  ) -> RenditionEncoding {
    RenditionEncoding(
      RenditionSettings(name: "low", width: 32, height: 24, bitrate: 100_000),
      of: VideoFormat(width: 64, height: 48, frameRate: 30), video: VideoSettings(), lingerTime: .zero,
      retryDelay: retryDelay, encoders: self.encoders, report: report, request: {}, requestFrame: requestFrame,
      usageChanged: {})
  }

  private final class EventList: Sendable {
    private let list = Mutex<[StreamEvent]>([])
    func append(_ event: StreamEvent) { self.list.withLock { $0.append(event) } }
    var count: Int { self.list.withLock { $0.count } }
  }

  private static func prepare(_ rendition: RenditionEncoding) async -> Result<CodecDescription, VidiconError> {
    do throws(VidiconError) {
      return .success(try await rendition.prepare())
    } catch {
      return .failure(error)
    }
  }

  private static func code(_ result: Result<CodecDescription, VidiconError>) -> VidiconError.Code? {
    guard case .failure(let error) = result else { return nil }
    return error.code
  }

  @Test func `requests for an encoder that never opens are answered after two seconds, and it is closed once it does`()
    async throws
  {
    let gate = Monitor(false)
    self.encoders.replace { (settings) throws(VidiconError) in
      gate.wait { $0 ? () : nil }
      return try LibavH264Encoder(settings)
    }
    let rendition = self.rendition()
    let start = StreamClock.system.now()
    async let other = Self.prepare(rendition)
    #expect(Self.code(await Self.prepare(rendition)) == .timedOut)
    #expect(Self.code(await other) == .timedOut)
    #expect(StreamClock.system.now() - start >= .seconds(2))
    // The encoder is requested again, and then open after all.
    let later = StreamClock.system.now()
    #expect(Self.code(await Self.prepare(rendition)) == .timedOut)
    #expect(StreamClock.system.now() - later >= .seconds(2))
    async let last = Self.prepare(rendition)
    gate.withLock { $0 = true }
    #expect(try await last.get() == rendition.description)
    try await eventually { !rendition.statistics.isRunning }
    rendition.end()
  }

  @Test func `requests for an encoder that needs a frame are answered, and do not keep it open`() async throws {
    self.encoders.replace { (settings) throws(VidiconError) in try LateEncoder(settings) }
    let rendition = self.rendition()
    #expect(Self.code(await Self.prepare(rendition)) == .timedOut)
    #expect(!rendition.isInUse)
    try await eventually { !rendition.statistics.isRunning }
    rendition.end()
  }

  @Test func `an encoder that opened late requests a frame, which a still source may show no more`() async throws {
    let gate = Monitor(false)
    let requests = Monitor(0)
    self.encoders.replace { (settings) throws(VidiconError) in
      gate.wait { $0 ? () : nil }
      return try LibavH264Encoder(settings)
    }
    let rendition = self.rendition(requestFrame: { requests.withLock { $0 += 1 } })
    let start = StreamClock.system.now()
    rendition.beginUse()
    try await eventually { StreamClock.system.now() - start >= VideoSchedule.joiningTime }
    #expect(requests.read { $0 } == 0)
    gate.withLock { $0 = true }
    try await eventually { requests.read { $0 } == 1 }
    rendition.end()
  }

  @Test func `the end of a stream does not wait for an encoder that hangs`() async throws {
    let (gate, isHanging) = (Monitor(false), Monitor(false))
    self.encoders.replace { (settings) throws(VidiconError) in
      isHanging.withLock { $0 = true }
      gate.wait { $0 ? () : nil }
      return try LibavH264Encoder(settings)
    }
    let rendition = self.rendition()
    rendition.beginUse()
    try await eventually { isHanging.read { $0 } }
    let result = await withCheckedContinuation { continuation in
      rendition.prepare(continuation)
      // At once: a task that is suspended here might not continue before the request has timed out.
      rendition.end()
      rendition.waitForThread(until: StreamClock.system.now() + .seconds(300))
    }
    #expect(Self.code(result) == .wrongState)
    gate.withLock { $0 = true }
  }

  @Test func `an encoder that fails is opened again for a request after a while, and reported once`() async throws {
    let (openings, fails, events) = (Monitor(0), Monitor(true), EventList())
    self.encoders.replace { (settings) throws(VidiconError) in
      openings.withLock { $0 += 1 }
      if fails.read({ $0 }) { throw Self.busy }
      return try LibavH264Encoder(settings)
    }
    let delay = MediaDuration.milliseconds(500)
    let rendition = self.rendition(retryDelay: delay) { events.append($0) }
    for attempt in 1...2 {
      let start = StreamClock.system.now()
      #expect(Self.code(await Self.prepare(rendition)) == .busy)
      let output = CollectingOutput()
      rendition.add(output)
      let failure = rendition.failure
      // Read last: the failure was looked at before that.
      let isEarly = StreamClock.system.now() - start < delay
      if isEarly { #expect(failure == Self.busy && output.hasEnded) }
      #expect(rendition.hasFailed && openings.read({ $0 }) == attempt)
      try await eventually { rendition.failure == nil }
      #expect(rendition.hasFailed)
    }
    fails.withLock { $0 = false }
    #expect(try await Self.prepare(rendition).get() == rendition.description)
    let output = CollectingOutput()
    rendition.add(output)
    #expect(!rendition.hasFailed && !output.hasEnded && events.count == 1)
    rendition.end()
    #expect(output.hasEnded)
  }
}
