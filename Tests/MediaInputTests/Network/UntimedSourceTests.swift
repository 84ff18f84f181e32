import Capture
import Foundation
import Libc
import Media
import TestSupport
import Testing
import Threading

@testable import MediaInput

@Suite("Network sources without timestamps: H.264 without a container", .timeLimit(.minutes(5)))
struct UntimedSourceTests {
  /// Four seconds at 30 frames a second, as their video usability information says. The left of each frame is brighter than that of the
  /// one before it; the rest is noise, so that no pipe holds the film.
  private static func film(bFrames: Int) throws -> String {
    try TestMedia.path(
      "untimed-\(bFrames).h264",
      [
        "-f", "lavfi", "-i",
        "color=black:s=64x48:r=30:d=4,geq=lum='if(lt(X,32),16+N,random(1)*255)':cb=128:cr=128", "-pix_fmt", "yuv420p",
        "-c:v", "libx264", "-preset", "ultrafast", "-qp", "1", "-bf", "\(bFrames)", "-x264-params",
        "b-adapt=0:keyint=30:scenecut=0",
      ])
  }

  /// Sender of a film, all at once.
  enum Sender: CaseIterable {
    case server, serverOfFiles, namedPipe
  }

  /// Samples and frames of a film up to a number of them.
  private static func state(_ sender: Sender, _ path: String, _ count: Int) throws -> SampleCollector.State {
    let bytes = [UInt8](try Data(contentsOf: URL(filePath: path)))
    let server =
      switch sender {
      case .serverOfFiles: try LocalServer.files(in: TestMedia.folder.path)
      case .server, .namedPipe:
        try LocalServer { connection in
          _ = connection.readHead()
          connection.write("HTTP/1.1 200 OK\r\n\r\n")
          connection.write(bytes)
          connection.waitForEnd()
        }
      }
    let name = URL(filePath: path).lastPathComponent
    let source: NetworkSource
    var writer: Process?
    if sender == .namedPipe {
      let fifo = try TestMedia.path(name + ".fifo", bytes: Data())
      try FileManager.default.removeItem(atPath: fifo)
      try #require(mkfifo(fifo, 0o600) == 0)
      let process = Process()
      process.executableURL = URL(filePath: "/usr/bin/env")
      process.arguments = ["bash", "-c", "cat \"$1\" >\"$2\"", "bash", path, fifo]
      try Process.startAlone { try process.run() }
      writer = process
      source = try NetworkSource(
        NetworkSpecification(fifo: fifo),
        until: NetworkSource.AssumedFormats(
          video: VideoFormat(width: 64, height: 48, pixelFormat: .i420, frameRate: 30),
          audio: AudioFormat(sampleRate: 48_000, channelCount: 2)))
    } else {
      source = try NetworkSource(url: "http://127.0.0.1:\(server.port)/\(name)")
    }
    defer { writer?.terminate() }
    let video = try #require(source.video)
    #expect(video.format.frameRate == 30)
    let collector = SampleCollector()
    try video.start(consumer: collector)
    defer { video.stop() }
    let state = collector.wait { $0.samples.count + $0.frameCount >= count }
    // The end of the film may have come before a busy machine has looked.
    #expect(source.droppedPacketCount == 0 && state.ends.allSatisfy { $0?.cause == "the stream has ended" })
    return state
  }

  /// Whether all times are an interval of 30 frames a second apart.
  private static func isEven(_ times: [MediaTime]) -> Bool {
    zip(times, times.dropFirst()).allSatisfy { abs(($1 - $0).nanoseconds - 33_333_333) < 1_000_000 }
  }

  @Test(arguments: Sender.allCases) func `what is sent at once is played in real time, by its own rate`(sender: Sender)
    throws
  {
    let state = try Self.state(sender, try Self.film(bFrames: 0), 110)
    let samples = state.samples.prefix(110)
    try #require(samples.count == 110 && state.frameCount == 0)
    #expect(samples.first?.isKeyframe == true && samples.indices.filter { samples[$0].isKeyframe } == [0, 30, 60, 90])
    #expect(Self.isEven(samples.map(\.decodeTime)))
    for (sample, arrival) in zip(samples, state.arrivals) { #expect(arrival >= sample.decodeTime) }
  }

  @Test(arguments: Sender.allCases) func `frames that are reordered are decoded, and shown in their order`(
    sender: Sender
  ) throws {
    let state = try Self.state(sender, try Self.film(bFrames: 2), 105)
    let shown = state.shown.prefix(105)
    try #require(shown.count == 105 && state.samples.isEmpty)
    #expect(zip(shown, shown.dropFirst()).allSatisfy { $0.luma < $1.luma }, "\(shown.map(\.luma))")
    #expect(Self.isEven(shown.map(\.time)))
  }
}
