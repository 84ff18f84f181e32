import Capture
import Codecs
import Foundation
import Media
import TestSupport
import Testing
import Threading

@testable import MediaInput

/// Matroska has no decode times: libavformat derives them, and has none for the first packets of a connection.
@Suite("Matroska with reordered frames that is joined anywhere, RFC 9559", .timeLimit(.minutes(5)))
struct JoinedAmidGroupTests {
  /// Place at which the film is joined.
  enum Place: CaseIterable {
    /// With the keyframe at 0 s.
    case start
    /// At about 1.4 s, before the keyframe at 3 s.
    case amidGroup

    /// The first frame that can be shown.
    var firstFrame: Int { self == .start ? 0 : 75 }
  }

  /// Six seconds of 25 frames, each brighter than the one before it, with a beep at 4 s.
  private static func film(_ pixelFormat: String, from place: Place) throws -> String {
    let whole = try TestMedia.path(
      "whole-\(pixelFormat).mkv",
      [
        "-f", "lavfi", "-i", "color=black:s=64x48:r=25:d=6,geq=lum='16+N':cb=128:cr=128", "-f", "lavfi", "-i",
        "aevalsrc='0.5*sin(2*PI*1000*t)*between(t,4,4.1)':s=48000:d=6", "-pix_fmt", pixelFormat,
        "-c:v", "libx264", "-preset", "ultrafast", "-qp", "1", "-bf", "2", "-x264-params",
        "b-adapt=0:keyint=75:scenecut=0", "-c:a", "aac", "-cluster_time_limit", "200", "-live", "1",
      ])
    let bytes = try Data(contentsOf: URL(filePath: whole))
    // Clusters have 200 ms, RFC 9559 §5.1.3.
    let clusters = bytes.ranges(of: Data([0x1F, 0x43, 0xB6, 0x75])).map(\.lowerBound)
    try #require(clusters.count > 20)
    let first = place == .start ? 0 : clusters.count / 4
    return try TestMedia.path(
      "\(place)-\(pixelFormat).mkv", bytes: bytes[..<clusters[0]] + bytes[clusters[first]...])
  }

  /// A number of samples or frames of a film, and its beeps.
  private static func play(
    _ path: String, _ count: Int, beeps: Int = 1
  ) throws -> (video: SampleCollector.State, beeps: [MediaTime]) {
    let server = try LocalServer.files(in: TestMedia.folder.path)
    let source = try NetworkSource(url: "http://127.0.0.1:\(server.port)/\(URL(filePath: path).lastPathComponent)")
    let (video, audio) = (SampleCollector(), AudioCollector())
    try #require(source.video).start(consumer: video)
    try #require(source.audio).start(consumer: audio)
    defer {
      source.video?.stop()
      source.audio?.stop()
    }
    let state = video.wait { $0.samples.count + $0.frameCount >= count }
    let heard = audio.state.wait(until: StreamClock.system.now() + .seconds(300)) { state -> [MediaTime]? in
      let found = beginnings(of: state.blocks)
      return found.count >= beeps ? found : nil
    }
    return (state, try #require(heard))
  }

  private static func isEven(_ times: [MediaTime]) -> Bool {
    zip(times, times.dropFirst()).allSatisfy { abs(($1 - $0).nanoseconds - 40_000_000) < 1_500_000 }
  }

  @Test(arguments: Place.allCases) func `frames are passed through from the first keyframe on, in order and in sync`(
    place: Place
  ) throws {
    let count = 145 - place.firstFrame
    let (state, beeps) = try Self.play(try Self.film("yuv420p", from: place), count)
    let samples = state.samples.prefix(count)
    try #require(samples.count == count && state.frameCount == 0)
    #expect(samples.first?.isKeyframe == true)
    #expect(samples.allSatisfy { $0.presentationTime >= $0.decodeTime })
    #expect(samples.contains { $0.presentationTime - $0.decodeTime > .milliseconds(100) })
    #expect(Self.isEven(samples.map(\.decodeTime)))
    // The last ones may lack a frame that is shown before them.
    let shown = Array(samples.map(\.presentationTime).sorted().dropLast(3))
    #expect(Self.isEven(shown))
    #expect(abs((beeps[0] - shown[100 - place.firstFrame]).nanoseconds) < 60_000_000)
    guard case .h264(let description)? = state.descriptions.first else {
      Issue.record("no description")
      return
    }
    let decoder = try H264Decoder(description)
    let frames = samples.flatMap { decoder.decode($0) }
    let lumas = frames.map { frame in frame.withPlane(0) { Int($0[0]) } }
    #expect(lumas.count >= count - 5 && lumas == (0..<lumas.count).map { 16 + place.firstFrame + $0 })
    #expect(Self.isEven(frames.map(\.timestamp)))
  }

  @Test(arguments: Place.allCases) func `frames that are decoded come from the first keyframe on, in order and in sync`(
    place: Place
  ) throws {
    let count = 140 - place.firstFrame
    let (state, beeps) = try Self.play(try Self.film("yuv422p", from: place), count)
    let shown = state.shown.prefix(count)
    try #require(shown.count == count && state.samples.isEmpty)
    #expect(shown.map { Int($0.luma) } == (0..<count).map { 16 + place.firstFrame + $0 })
    #expect(Self.isEven(shown.map(\.time)))
    #expect(abs((beeps[0] - shown[100 - place.firstFrame].time).nanoseconds) < 60_000_000)
  }

  @Test func `clips that were joined are shown in order and in sync`() throws {
    let clip = try Data(contentsOf: URL(filePath: try Self.film("yuv420p", from: .start)))
    let (state, beeps) = try Self.play(try TestMedia.path("clips.mkv", bytes: clip + clip), 290, beeps: 2)
    let samples = state.samples.prefix(290)
    try #require(samples.count == 290 && state.frameCount == 0)
    #expect(samples.indices.filter { samples[$0].isKeyframe } == [0, 75, 150, 225])
    let shown = samples.map(\.presentationTime).sorted()
    #expect(Self.isEven(Array(shown.prefix(150))) && Self.isEven(Array(shown[150...].dropLast(3))))
    // The second clip follows the first one.
    #expect(abs((shown[150] - shown[149]).nanoseconds - 40_000_000) < 80_000_000)
    #expect(abs((beeps[0] - shown[100]).nanoseconds) < 60_000_000)
    #expect(abs((beeps[1] - shown[250]).nanoseconds) < 100_000_000)
  }

  @Test func `frames are shown of a film that ends before a decode time is known`() throws {
    let path = try TestMedia.path(
      "two-frames.mkv",
      [
        "-f", "lavfi", "-i", "color=black:s=64x48:r=25:d=1", "-frames:v", "2", "-pix_fmt", "yuv420p", "-c:v", "libx264",
        "-preset", "ultrafast", "-bf", "2", "-x264-params", "b-adapt=0",
      ])
    let server = try LocalServer.files(in: TestMedia.folder.path)
    let source = try NetworkSource(url: "http://127.0.0.1:\(server.port)/\(URL(filePath: path).lastPathComponent)")
    let video = SampleCollector()
    try #require(source.video).start(consumer: video)
    let samples = video.wait { $0.samples.count >= 2 }.samples.prefix(2)
    source.video?.stop()
    try #require(samples.count == 2)
    #expect(samples[0].isKeyframe && Self.isEven(samples.map(\.presentationTime)))
  }
}
