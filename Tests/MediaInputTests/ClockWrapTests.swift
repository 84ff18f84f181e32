import Capture
import Foundation
import Media
import NIOCore
import TestSupport
import Testing
import Threading
import TransportStreams

@testable import MediaInput

/// Timestamps of 33 bits begin at 0 again after 2³³ / 90 000 s = 95 443.7 s, a day and two and a half hours.
@Suite("Transport streams whose clock wraps, ISO/IEC 13818-1 §2.4.3.7", .timeLimit(.minutes(5)))
struct ClockWrapTests {
  /// A film with a tone, whose clock begins at a number of seconds and wraps in it.
  private static func film(from start: Int, seconds: Int) throws -> String {
    let path = try TestMedia.path(
      "wrap-\(start).ts",
      [
        "-f", "lavfi", "-i", "testsrc2=s=64x48:r=25:d=\(seconds)", "-f", "lavfi", "-i",
        "sine=1000:r=48000:d=\(seconds)", "-c:v", "libx264", "-preset", "ultrafast", "-bf", "0", "-pix_fmt", "yuv420p",
        "-c:a", "aac", "-output_ts_offset", "\(start)",
      ])
    var demuxer = TransportStreamDemuxer()
    let events = demuxer.demux(ByteBuffer(bytes: try Data(contentsOf: URL(filePath: path)))) + demuxer.finish()
    var times: [UInt16: [UInt64]] = [:]
    for case .packet(let packet, _, let identifier) in events {
      if let time = packet.presentationTimestamp { times[identifier, default: []].append(time) }
    }
    // Both streams begin before the wrap and end after it.
    try #require(times.count == 2)
    for times in times.values { try #require(zip(times, times.dropFirst()).count { $1 < $0 } == 1) }
    return path
  }

  /// Expects that each frame comes 40 ms after the one before it.
  private static func expectSteps(_ times: [MediaTime], within tolerance: Int64) {
    let steps = zip(times, times.dropFirst()).map { ($1 - $0).nanoseconds - 40_000_000 }
    #expect(steps.allSatisfy { abs($0) <= tolerance }, "\(steps.filter { abs($0) > tolerance })")
  }

  /// libavformat counts backward from the wrap where a file begins less than a minute before it, and beyond 2³³ where it begins earlier.
  @Test(arguments: [(95_440, 4), (95_380, 66)]) func `a file goes on, with all frames and all audio`(
    start: Int, seconds: Int
  ) throws {
    let file = try DecodedFile(try Self.film(from: start, seconds: seconds)) { $0.timestamp }
    #expect(file.frames.count == 25 * seconds)
    Self.expectSteps(file.frames, within: 20_000)
    let count = file.audio.reduce(0) { $0 + $1.sampleCount }
    // Encoders fill the first and the last frame of 1024 samples.
    #expect(abs(count - 48_000 * seconds) < 4 * 1024)
    for (block, next) in zip(file.audio, file.audio.dropFirst()) {
      #expect(abs((next.timestamp - block.timestamp - block.duration).nanoseconds) < 20_000)
    }
    #expect(file.audio.dropFirst(3).dropLast(3).allSatisfy { $0.samples.contains { abs($0) > 0.05 } })
    let (frame, block) = (try #require(file.frames.last), try #require(file.audio.last))
    #expect(abs((block.timestamp + block.duration - frame).nanoseconds) < 150_000_000)
  }

  @Test func `a network source goes on, with all frames and all audio`() throws {
    let path = try Self.film(from: 95_440, seconds: 4)
    let server = try LocalServer.files(in: TestMedia.folder.path)
    let name = URL(filePath: path).lastPathComponent
    let source = try NetworkSource(url: "http://127.0.0.1:\(server.port)/\(name)")
    let (video, audio) = (SampleCollector(), AudioCollector())
    try #require(source.video).start(consumer: video)
    try #require(source.audio).start(consumer: audio)
    // The last frames are left out: the source connects again after them.
    let times = video.wait { $0.samples.count >= 95 }.samples.prefix(95).map(\.presentationTime)
    let end = try #require(times.last)
    let blocks = audio.state.wait(until: StreamClock.system.now() + .seconds(300)) { state in
      state.blocks.contains { $0.timestamp > end } ? state.blocks.filter { $0.timestamp <= end } : nil
    }
    source.video?.stop()
    source.audio?.stop()
    try #require(times.count == 95)
    Self.expectSteps(times, within: 1_000_000)
    let heard = try #require(blocks)
    for (block, next) in zip(heard, heard.dropFirst()) {
      #expect(abs((next.timestamp - block.timestamp - block.duration).nanoseconds) < 1_000_000)
    }
    // Both sides of the wrap, 2.3 s after the first frame.
    #expect(try #require(heard.first).timestamp < times[50] && heard.count > 60)
    #expect(heard.dropFirst(3).allSatisfy { $0.samples.contains { abs($0) > 0.05 } })
  }
}
