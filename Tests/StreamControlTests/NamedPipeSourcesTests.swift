import Capture
import CaptureDevices
import Foundation
import Libc
import Media
import TestSupport
import Testing
import Threading

@testable import StreamControl

@Suite("Named pipes as sources", .timeLimit(.minutes(5)))
struct NamedPipeSourcesTests {
  /// Runs `body` with a named pipe, which is removed afterwards.
  private static func withPipe(_ body: (_ path: String) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "pipes-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try #require(mkfifo("\(folder)/audio", 0o600) == 0)
    try await body("\(folder)/audio")
  }

  private static func open(
    video: SourceSpecification.Video, audio: SourceSpecification.Audio, connection: Sources.ConnectionNeed
  ) throws -> Sources {
    try Sources(
      SourceSpecification(video: video, audio: audio), devices: SystemDevices(), width: 320, height: 180,
      frameRate: FrameRate(30), audioFormat: AudioFormat(sampleRate: 48_000, channelCount: 2), loop: false,
      isConfined: false, allowsLinkLocal: true, passesThroughWHIP: false, connection: connection)
  }

  /// A process that writes a tone.
  private static func writer(audio: String) throws -> Process {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = [
      "ffmpeg", "-v", "error", "-nostdin", "-y", "-re", "-f", "lavfi", "-i", "sine=1000:r=48000", "-f", "wav", audio,
    ]
    try Process.startAlone { try process.run() }
    return process
  }

  @Test func `a pipe of audio without a writer is opened at once, and played for each of its writers`() async throws {
    try await Self.withPipe { pipe in
      let sources = try await onThread {
        try Self.open(video: .bars, audio: .file(path: pipe), connection: .later)
      }
      #expect(sources.pendingFailure == nil && sources.pendingAudioFailure?.cause == "no program writes to it yet")
      let audio = try #require(sources.audio)
      #expect(audio.format == AudioFormat(sampleRate: 48_000, channelCount: 2))
      let collector = AudioCollector()
      try audio.start(consumer: collector)
      for writer in 1...2 {
        let process = try Self.writer(audio: pipe)
        // Threads of tests block SIGTERM, and their processes do so too.
        defer { kill(process.processIdentifier, SIGKILL) }
        let heard = try await onThread {
          // Two seconds behind what there was before.
          let count = collector.state.read { $0.blocks.reduce(0) { $0 + $1.sampleCount } }
          let blocks = collector.blocks(samples: count + 48_000)
          return blocks.last?.samples.contains { abs($0) > 0.05 } ?? false
        }
        #expect(heard, "\(writer)")
        kill(process.processIdentifier, SIGKILL)
        let ends = try await onThread {
          collector.state.wait(until: StreamClock.system.now() + .seconds(300)) {
            $0.ends.count >= writer ? $0.ends.count : nil
          }
        }
        #expect(ends == writer)
      }
      try await onThread { audio.stop() }
    }
  }
}
