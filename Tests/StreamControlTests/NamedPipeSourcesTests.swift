import Capture
import CaptureDevices
import Foundation
import Media
import TestSupport
import Testing
import Threading

@testable import StreamControl

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

@Suite("Named pipes as sources", .timeLimit(.minutes(5)))
struct NamedPipeSourcesTests {
  /// Runs `body` with two named pipes, which are removed afterwards.
  private static func withPipes<Result>(_ body: (_ video: String, _ audio: String) async throws -> Result) async throws
    -> Result
  {
    let folder = FileManager.default.temporaryDirectory.appending(path: "pipes-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let pipes = ["\(folder)/video", "\(folder)/audio"]
    for pipe in pipes { try #require(mkfifo(pipe, 0o600) == 0) }
    return try await body(pipes[0], pipes[1])
  }

  private static func open(
    video: SourceSpecification.Video, audio: SourceSpecification.Audio, connection: Sources.ConnectionNeed
  ) throws -> Sources {
    try Sources(
      SourceSpecification(video: video, audio: audio), devices: SystemDevices(), width: 320, height: 180,
      frameRate: FrameRate(30), audioFormat: AudioFormat(sampleRate: 48_000, channelCount: 2), loop: false,
      isConfined: false, allowsLinkLocal: true, passesThroughWHIP: false, connection: connection)
  }

  /// A process that writes a tone, and video where that has a pipe, opening the pipe of the audio last.
  private static func writer(video: String? = nil, audio: String) throws -> Process {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    var arguments = ["ffmpeg", "-v", "error", "-nostdin", "-y", "-re", "-f", "lavfi", "-i", "sine=1000:r=48000"]
    if let video {
      arguments += ["-f", "lavfi", "-i", "testsrc2=s=320x180:r=25", "-map", "1", "-c:v", "libx264", "-bf", "0"]
      arguments += ["-preset", "ultrafast", "-pix_fmt", "yuv420p", "-g", "25", "-f", "mpegts", video]
    }
    process.arguments = arguments + ["-map", "0", "-f", "wav", audio]
    try process.run()
    return process
  }

  @Test func `a pipe of audio without a writer is opened at once, and played for each of its writers`() async throws {
    try await Self.withPipes { _, pipe in
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
        defer { process.terminate() }
        let heard = try await onThread {
          // Two seconds behind what there was before.
          let count = collector.state.read { $0.blocks.reduce(0) { $0 + $1.sampleCount } }
          let blocks = collector.blocks(samples: count + 48_000)
          return blocks.last?.samples.contains { abs($0) > 0.05 } ?? false
        }
        #expect(heard, "\(writer)")
        process.terminate()
        let ends = try await onThread {
          collector.state.wait(until: StreamClock.system.now() + .seconds(240)) {
            $0.ends.count >= writer ? $0.ends.count : nil
          }
        }
        #expect(ends == writer)
      }
      try await onThread { audio.stop() }
    }
  }

  @Test func `a program that opens a pipe of video and one of audio is waited for`() async throws {
    try await Self.withPipes { video, audio in
      let process = try Self.writer(video: video, audio: audio)
      defer { process.terminate() }
      let sources = try await onThread {
        try Self.open(video: .file(path: video), audio: .file(path: audio), connection: .awaited)
      }
      #expect(sources.video.format.width == 320 && sources.audio?.format.sampleRate == 48_000)
      #expect(sources.pendingFailure == nil && sources.pendingAudioFailure == nil)
    }
  }
}
