import Bitstreams
import Capture
import Foundation
import Media
import NIOCore
import TestSupport
import Testing

@testable import MediaInput
@testable import Threading

@Suite("A source that a publisher sends")
struct PublishedSourceTests {
  private let source = PublishedSource(
    format: VideoFormat(width: 64, height: 48, pixelFormat: .i420),
    audioFormat: AudioFormat(sampleRate: 48_000, channelCount: 2))
  private let input: PublishedInput
  /// High profile, level 3.1, 1280×720, as libx264 writes it.
  private static let h264 = H264Description(
    sequenceParameterSet: [
      0x67, 0x64, 0x00, 0x1F, 0xAC, 0xD9, 0x40, 0x50, 0x05, 0xBB, 0x01, 0x10, 0x00, 0x00, 0x03, 0x00, 0x10, 0x00, 0x00,
      0x03, 0x03, 0xC0, 0xF1, 0x83, 0x19, 0x60,
    ], pictureParameterSet: [0x68, 0xEB, 0xE3, 0xCB, 0x22, 0xC0], width: 1280, height: 720, frameRate: 30)
  private static let aac = AACDescription(
    audioSpecificConfig: [0x12, 0x08], format: AudioFormat(sampleRate: 44_100, channelCount: 1))

  init() throws {
    self.input = try #require(PublishedSource.input(of: self.source.video))
  }

  private func video(at milliseconds: Int64, isKeyframe: Bool = false) -> EncodedSample {
    let bytes: [UInt8] = [0, 0, 0, 2, isKeyframe ? 0x65 : 0x41, 0x80]
    return EncodedSample(
      kind: .video, payload: ByteBuffer(bytes: bytes),
      presentationTime: .zero + .milliseconds(milliseconds), duration: .zero, isKeyframe: isKeyframe)
  }

  @Test func `H.264 is passed on with increasing times, and its format is announced`() throws {
    let collector = SampleCollector()
    try self.source.video.start(consumer: collector)
    defer { self.source.video.stop() }
    let id = try #require(self.input.begin())
    #expect(self.input.describe(.h264(Self.h264), by: id))
    #expect(self.input.consume(self.video(at: 5_000, isKeyframe: true), by: id))
    #expect(self.input.consume(self.video(at: 5_033), by: id))
    // Backwards, as of some drones.
    #expect(self.input.consume(self.video(at: 5_000), by: id))
    let state = collector.wait { $0.samples.count == 3 }
    #expect(state.samples.map(\.isKeyframe) == [true, false, false])
    #expect(state.descriptions == [.h264(Self.h264)])
    #expect(state.formats.map(\.width) == [1280] && self.source.video.format.width == 1280)
    let times = state.samples.map(\.decodeTime)
    #expect(times == times.sorted() && Set(times).count == 3)
  }

  @Test func `consumers learn of the end of a publication, and audio of its absence at the start`() throws {
    let (video, audio) = (SampleCollector(), AudioCollector())
    try self.source.video.start(consumer: video)
    try self.source.audio.start(consumer: audio)
    defer {
      self.source.video.stop()
      self.source.audio.stop()
    }
    #expect(audio.end()??.cause == "no publisher sends")
    let id = try #require(self.input.begin())
    #expect(self.input.begin() == nil)
    self.input.end(id)
    // A stream whose video ends before its first frame does not start.
    #expect(video.wait { $0.ends.count == 1 }.ends.count == 1)
    #expect(!self.input.consume(self.video(at: 0, isKeyframe: true), by: id))
    #expect(self.input.begin() != nil)
  }

  @Test func `audio is decoded into the source's format, whatever the publisher sends`() throws {
    let audio = AudioCollector()
    try self.source.audio.start(consumer: audio)
    defer { self.source.audio.stop() }
    let id = try #require(self.input.begin())
    let path = try TestMedia.path(
      "published.aac", ["-f", "lavfi", "-i", "sine=1000:r=44100:d=1", "-c:a", "aac", "-ac", "1", "-f", "adts"])
    var file = ByteBuffer(bytes: try Data(contentsOf: URL(filePath: path)))
    #expect(self.input.describe(.aac(Self.aac), by: id))
    var milliseconds: Int64 = 0
    while let header = try? ADTSHeader(parsing: &file), let frame = file.readSlice(length: header.payloadLength) {
      #expect(
        self.input.consume(
          EncodedSample(
            kind: .audio, payload: frame, presentationTime: .zero + .milliseconds(milliseconds), duration: .zero,
            isKeyframe: true), by: id))
      milliseconds += 23
    }
    let blocks = audio.blocks(samples: 40_000)
    #expect(blocks.reduce(0) { $0 + $1.sampleCount } >= 40_000)
    #expect(blocks.allSatisfy { $0.format == AudioFormat(sampleRate: 48_000, channelCount: 2) })
    #expect(blocks.contains { $0.samples.contains { abs($0) > 0.05 } })
  }

  @Test func `a publication that is refused is one event, however often it is tried`() throws {
    let video = SampleCollector()
    try self.source.video.start(consumer: video)
    defer { self.source.video.stop() }
    let error = VidiconError(.unsupported, subject: "publisher", cause: "HEVC", nextStep: "send H.264")
    for _ in 0..<3 { self.input.end(try #require(self.input.begin()), error: error) }
    let id = try #require(self.input.begin())
    #expect(self.input.describe(.h264(Self.h264), by: id))
    #expect(self.input.consume(self.video(at: 0, isKeyframe: true), by: id))
    self.input.end(id, error: error)
    #expect(video.wait { $0.ends.count == 2 && $0.samples.count == 1 }.ends.map { $0?.cause } == ["HEVC", "HEVC"])
  }

  @Test func `a consumer that starts amid a publication gets it`() throws {
    let id = try #require(self.input.begin())
    #expect(self.input.describe(.h264(Self.h264), by: id))
    #expect(self.input.consume(self.video(at: 0, isKeyframe: true), by: id))
    let collector = SampleCollector()
    try self.source.video.start(consumer: collector)
    defer { self.source.video.stop() }
    #expect(self.input.consume(self.video(at: 33), by: id))
    #expect(self.input.consume(self.video(at: 67, isKeyframe: true), by: id))
    let state = collector.wait { $0.samples.count == 1 }
    #expect(state.samples.map(\.isKeyframe) == [true] && state.ends.isEmpty)
  }
}
