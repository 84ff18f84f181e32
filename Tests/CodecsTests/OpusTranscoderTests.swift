import CLibav
import Codecs
import Media
import NIOCore
import Testing

@Suite("AAC to Opus")
struct OpusTranscoderTests {
  private static let input = AudioFormat(sampleRate: 44_100, channelCount: 1)

  /// AAC of a tone of 441 Hz, from a time on.
  private static func aac(
    seconds: Double, from start: MediaTime
  ) throws -> (description: AACDescription, samples: [EncodedSample]) {
    let encoder = try LibavAACEncoder(format: self.input, bitrate: 64_000)
    var samples: [EncodedSample] = []
    let count = Int(seconds * 44_100)
    let tone = (0..<count).map { Float($0 % 100 < 50 ? 0.25 : -0.25) }
    try encoder.encode(AudioBlock(format: self.input, timestamp: start, samples: tone)) { samples.append($0) }
    return (encoder.description, samples)
  }

  @Test func `packets of 20 ms continue each other on the clock of the input`() throws {
    let start = MediaTime.zero + .seconds(100)
    let (description, samples) = try Self.aac(seconds: 3, from: start)
    let transcoder = try OpusTranscoder(description)
    var packets: [EncodedSample] = []
    for sample in samples { transcoder.transcode(sample) { packets.append($0) } }
    #expect(packets.count > 140 && packets.count < 150)
    #expect(packets.allSatisfy { $0.kind == .audio && $0.isKeyframe && $0.duration == .milliseconds(20) })
    for (packet, next) in zip(packets, packets.dropFirst()) {
      #expect(abs((next.presentationTime - packet.presentationTime - .milliseconds(20)).nanoseconds) <= 1)
    }
    // The first one begins with the first sample, earlier by the encoders' delays.
    let first = try #require(packets.first).presentationTime
    #expect(first < start && first > start - .milliseconds(60))
    // 96 kb/s, stereo in one channel's width: code 0 of RFC 6716 §3.1, one frame.
    #expect(
      packets.allSatisfy { $0.payload.readableBytes < 600 && ($0.payload.getInteger(at: 0) ?? UInt8(3)) & 0b11 == 0 })
    #expect(packets.allSatisfy { ($0.payload.getInteger(at: 0) ?? UInt8(0)) & 0b100 != 0 })
  }

  @Test func `after a gap the times are those of the new audio, and nothing of before is left`() throws {
    let (description, samples) = try Self.aac(seconds: 1, from: .zero + .seconds(1))
    let transcoder = try OpusTranscoder(description)
    for sample in samples { transcoder.transcode(sample) { _ in } }
    let (_, later) = try Self.aac(seconds: 1, from: .zero + .seconds(60))
    var packets: [EncodedSample] = []
    for sample in later { transcoder.transcode(sample) { packets.append($0) } }
    #expect(packets.count > 40)
    let first = try #require(packets.first).presentationTime
    let gap = first - (MediaTime.zero + .seconds(60))
    #expect(abs(gap.nanoseconds) < 60_000_000)
    for (packet, next) in zip(packets, packets.dropFirst()) {
      #expect(abs((next.presentationTime - packet.presentationTime - .milliseconds(20)).nanoseconds) <= 1)
    }
  }

  @Test func `damaged samples are left out`() throws {
    let (description, samples) = try Self.aac(seconds: 2, from: .zero)
    let transcoder = try OpusTranscoder(description)
    var count = 0
    for (index, sample) in samples.enumerated() {
      var sample = sample
      if index % 10 == 5 { sample.payload = ByteBuffer(repeating: 0xFF, count: 50) }
      if index % 10 == 6 { sample.payload = ByteBuffer() }
      transcoder.transcode(sample) { _ in count += 1 }
    }
    #expect(count > 60)
  }
}
