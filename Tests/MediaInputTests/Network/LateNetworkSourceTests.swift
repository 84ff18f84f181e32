import Capture
import Foundation
import Libc
import Media
import TestSupport
import Testing
import Threading

@testable import MediaInput

@Suite("Network sources that come later", .timeLimit(.minutes(5)))
struct LateNetworkSourceTests {
  private static let formats = NetworkSource.AssumedFormats(
    video: VideoFormat(width: 320, height: 180, pixelFormat: .i420, frameRate: 30),
    audio: AudioFormat(sampleRate: 48_000, channelCount: 2))

  /// Writes a file into a named pipe, at its own pace.
  private static func write(_ file: String, to fifo: String) throws -> Process {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = [
      "ffmpeg", "-v", "error", "-nostdin", "-y", "-re", "-stream_loop", "3", "-i", file, "-c", "copy", "-f", "mpegts",
      fifo,
    ]
    try process.run()
    return process
  }

  @Test func `a named pipe is played for each of its writers`() throws {
    let fifo = try TestMedia.path("late.fifo", bytes: Data())
    try FileManager.default.removeItem(atPath: fifo)
    try #require(mkfifo(fifo, 0o600) == 0)
    let film = try TestMedia.flashAndBeep()
    let source = try NetworkSource(NetworkSpecification(fifo: fifo), until: Self.formats)
    #expect(source.pendingFailure != nil)
    let video = try #require(source.video)
    #expect(video.format.width == 320)
    let collector = SampleCollector()
    try video.start(consumer: collector)
    defer { video.stop() }
    for writer in 1...2 {
      let count = collector.state.read { $0.samples.count + $0.frameCount }
      let process = try Self.write(film, to: fifo)
      defer { process.terminate() }
      let state = collector.wait { $0.samples.count + $0.frameCount > count + 10 }
      #expect(state.samples.count + state.frameCount > count + 10 && state.ends.count == writer - 1)
      process.terminate()
      #expect(collector.wait { $0.ends.count >= writer }.ends.count == writer)
    }
  }

  @Test func `a source that is not there yet does not end, and a wrong address is refused`() throws {
    let source = try NetworkSource(try NetworkSpecification(parsing: "rtsp://127.0.0.1:1/none"), until: Self.formats)
    #expect(source.pendingFailure?.code == .failed)
    #expect(source.audio?.format == AudioFormat(sampleRate: 48_000, channelCount: 2))
    let collector = SampleCollector()
    try #require(source.video).start(consumer: collector)
    source.video?.stop()
    #expect(collector.state.read { $0.ends.isEmpty && $0.samples.isEmpty })
    #expect(throws: VidiconError.self) {
      try NetworkSource(try NetworkSpecification(parsing: "rtsp://127.0.0.1:1/none"))
    }
  }
}
