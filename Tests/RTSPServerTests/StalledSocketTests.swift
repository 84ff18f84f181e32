import Dispatch
import Foundation
import Media
import NIOCore
import NIOPosix
import RTP
import RTSP
import Serving
import Streaming
import Synchronization
import TestSupport
import Testing

@testable import RTSPServer

@Suite("RTSP viewers on real sockets that stop reading")
struct StalledSocketTests {
  @Test(.timeLimit(.minutes(5)))
  func `after a stall of eight seconds the viewer is shown current frames`() async throws {
    let live = try await LiveServer()
    let report = await self.onThread { try live.watch(stalling: 8) }
    await live.stop()
    let frames = try report.get()
    let stall = try #require(frames.indices.dropFirst().first { frames[$0].arrival - frames[$0 - 1].arrival > 7 })
    let after = frames[stall...]
    // Old frames had left the server before the stall: they are in the buffers of the network, twice the 64 KiB that
    // the viewer asks for and what the server's system may hold unsent. A player that goes on reads all of them at
    // once.
    let old = after.prefix { $0.age > 1.5 }
    #expect(onQuietMachine(old.count <= (2 * 64 + 2 * 64) * 1024 / LiveServer.frameLength), "\(after.map(\.age))")
    let shown = after.dropFirst(old.count)
    let resumed = try #require(shown.first)
    #expect(onQuietMachine(resumed.arrival - frames[stall].arrival < 0.5), "\(resumed.arrival - frames[stall].arrival)")
    #expect(onQuietMachine(shown.allSatisfy { $0.age < 1.5 }), "\(shown.map(\.age))")
    // Most of the time it is far younger.
    #expect(onQuietMachine(shown.count { $0.age < 0.3 } * 10 > shown.count * 8), "\(shown.map(\.age))")
    #expect(onQuietMachine(after.count > 30))
    #expect(live.statistics.framesSkipped > 150)
    #expect(live.statistics.viewersClosedAsSlow == 0)
  }

  private func onThread<Value: Sendable>(
    _ body: @escaping @Sendable () throws -> Value
  ) async -> Result<Value, any Error> {
    await withCheckedContinuation { continuation in
      Thread.detachNewThread { continuation.resume(returning: Result { try body() }) }
    }
  }
}

/// A server on a free port with a stream of 30 frames a second of 10 kB, a keyframe on request.
private final class LiveServer: Sendable {
  /// A frame that the viewer received: its arrival, and its age then, in seconds.
  struct Frame {
    var arrival: Double
    var age: Double
  }

  private static let frameRate = 30.0
  static let frameLength = 10_000
  private let server: RTSPServer
  private let stream = LiveStream("live")
  private let output: RTPOutput
  private let begin = ContinuousClock.now
  private let timer = Mutex<RepeatedTask?>(nil)
  /// Signaled for each frame.
  private let frames = DispatchSemaphore(value: 0)
  /// Number of keyframe requests that were answered.
  private let answered = Atomic(0)

  init() async throws {
    var settings = RTSPServerSettings(port: 0)
    settings.address = "127.0.0.1"
    // The stall lasts for a number of frames: on a busy machine for longer than the ten seconds after which a viewer is closed, and
    // the viewer sends no keep-alives.
    (settings.stallTimeout, settings.sessionTimeout) = (.seconds(300), .seconds(300))
    self.server = RTSPServer(settings: settings)
    try await self.server.start()
    self.server.directory.outputs.serve(self.stream, descriptions: EmbeddedServer.descriptions)
    self.output = try #require(self.server.directory.outputs.output(of: self.stream.main))
    let task = MultiThreadedEventLoopGroup.singleton.next().scheduleRepeatedTask(
      initialDelay: .zero, delay: .nanoseconds(Int64(1e9 / Self.frameRate))
    ) { _ in self.sendFrame() }
    self.timer.withLock { $0 = task }
  }

  var statistics: ViewerStatistics { self.output.statistics }

  func stop() async {
    self.timer.withLock { $0?.cancel() }
    await self.server.stop()
  }

  private var now: Double { (ContinuousClock.now - self.begin) / .seconds(1) }

  private func sendFrame() {
    let requests = self.stream.statistics.keyframeRequests
    let isKeyframe = self.answered.exchange(requests, ordering: .relaxed) < requests
    var payload = ByteBuffer(integer: UInt32(Self.frameLength))
    payload.writeInteger(UInt8(isKeyframe ? 0x65 : 0x41))
    payload.writeRepeatingByte(0x80, count: Self.frameLength - 1)
    // The time since the start is the presentation time: the RTP timestamps give the age.
    let time = MediaTime(nanoseconds: Int64(self.now * 1e9))
    self.output.consume(
      EncodedSample(
        kind: .video, payload: payload, presentationTime: time, duration: .milliseconds(33), isKeyframe: isKeyframe))
    self.frames.signal()
  }

  /// Waits for the frames of some seconds.
  private func waitForFrames(seconds: Double) {
    while self.frames.wait(timeout: .now()) == .success {}
    for _ in 0..<Int(seconds * Self.frameRate) { self.frames.waitWithLimit() }
  }

  /// Plays the video for two seconds, reads nothing for some, plays for three more, and until a frame is current again.
  func watch(stalling seconds: Double) throws -> [Frame] {
    let port = try #require(self.server.ports?.plain)
    let connection = try BlockingConnection(port: port, receiveBuffer: 64 * 1024)
    try connection.send(
      "SETUP rtsp://h/live/trackID=0 RTSP/1.0\r\nCSeq: 1\r\nTransport: RTP/AVP/TCP;unicast;interleaved=0-1\r\n\r\n"
        + "PLAY rtsp://h/live RTSP/1.0\r\nCSeq: 2\r\n\r\n")
    let offset = try #require(self.output.senderStates.video).timestamp(at: .zero)
    var parser = RTSPMessageParser()
    var frames: [Frame] = []
    var stallEnd: Double?
    let start = self.now
    // Five minutes where a busy machine shows no frame, or none that is current.
    var end = start + 300
    while self.now < end {
      parser.append(try connection.receive())
      while let message = parser.next() {
        guard case .interleaved(0, let payload) = message, let packet = try? RTPPacket(parsing: payload),
          packet.header.marker
        else { continue }
        let captured = Double(packet.header.timestamp &- offset) / 90_000
        let frame = Frame(arrival: self.now, age: self.now - captured)
        frames.append(frame)
        if let stallEnd, frame.age <= 1.5 { end = stallEnd + 3 }
      }
      if stallEnd == nil, !frames.isEmpty, self.now > start + 2 {
        self.waitForFrames(seconds: seconds)
        stallEnd = self.now
        end = self.now + 300
      }
    }
    return frames
  }
}
