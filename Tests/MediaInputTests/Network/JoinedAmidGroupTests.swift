import Capture
import Codecs
import Foundation
import Media
import TestSupport
import Testing

@testable import MediaInput

/// Matroska has no decode times: libavformat derives them, and has none for the first packets of a connection.
@Suite("Matroska with reordered frames that is joined amid a group, RFC 9559", .timeLimit(.minutes(5)))
struct JoinedAmidGroupTests {
  /// Six seconds of 25 frames, each brighter than the one before it, with keyframes at 0 and 3 s; from about 1.4 s on.
  private static func film(_ pixelFormat: String) throws -> String {
    let whole = try TestMedia.path(
      "whole-\(pixelFormat).mkv",
      [
        "-f", "lavfi", "-i", "color=black:s=64x48:r=25:d=6,geq=lum='16+N':cb=128:cr=128", "-pix_fmt", pixelFormat,
        "-c:v", "libx264", "-preset", "ultrafast", "-qp", "1", "-bf", "2", "-x264-params",
        "b-adapt=0:keyint=75:scenecut=0", "-cluster_time_limit", "200", "-live", "1",
      ])
    let bytes = try Data(contentsOf: URL(filePath: whole))
    // Clusters have 200 ms, RFC 9559 §5.1.3.
    let clusters = bytes.ranges(of: Data([0x1F, 0x43, 0xB6, 0x75])).map(\.lowerBound)
    try #require(clusters.count > 20)
    return try TestMedia.path(
      "amid-\(pixelFormat).mkv", bytes: bytes[..<clusters[0]] + bytes[clusters[clusters.count / 4]...])
  }

  /// Samples or frames from the keyframe at 3 s on.
  private static func state(_ path: String, _ count: Int) throws -> SampleCollector.State {
    let server = try LocalServer.files(in: TestMedia.folder.path)
    let source = try NetworkSource(url: "http://127.0.0.1:\(server.port)/\(URL(filePath: path).lastPathComponent)")
    let collector = SampleCollector()
    try #require(source.video).start(consumer: collector)
    defer { source.video?.stop() }
    return collector.wait { $0.samples.count + $0.frameCount >= count }
  }

  private static func isEven(_ times: [MediaTime]) -> Bool {
    zip(times, times.dropFirst()).allSatisfy { abs(($1 - $0).nanoseconds - 40_000_000) < 1_500_000 }
  }

  @Test func `frames are passed through from the next keyframe on, and are shown in order`() throws {
    let state = try Self.state(try Self.film("yuv420p"), 70)
    let samples = state.samples.prefix(70)
    try #require(samples.count == 70 && state.frameCount == 0)
    #expect(samples.indices.filter { samples[$0].isKeyframe } == [0])
    #expect(samples.allSatisfy { $0.presentationTime >= $0.decodeTime })
    #expect(samples.contains { $0.presentationTime - $0.decodeTime > .milliseconds(100) })
    #expect(Self.isEven(samples.map(\.decodeTime)))
    // The last group may lack a frame that is shown before others of it.
    #expect(Self.isEven(Array(samples.map(\.presentationTime).sorted().dropLast(3))))
    guard case .h264(let description)? = state.descriptions.first else {
      Issue.record("no description")
      return
    }
    let decoder = try H264Decoder(description)
    let lumas = samples.flatMap { decoder.decode($0) }.map { frame in frame.withPlane(0) { Int($0[0]) } }
    #expect(lumas.count >= 65 && lumas == (0..<lumas.count).map { 16 + 75 + $0 })
  }

  @Test func `frames that are decoded come from the next keyframe on, and in order`() throws {
    let state = try Self.state(try Self.film("yuv422p"), 65)
    let shown = state.shown.prefix(65)
    try #require(shown.count == 65 && state.samples.isEmpty)
    #expect(shown.map { Int($0.luma) } == (0..<65).map { 16 + 75 + $0 })
    #expect(Self.isEven(shown.map(\.time)))
  }
}
