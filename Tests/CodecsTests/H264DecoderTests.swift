import Codecs
import Media
import NIOCore
import TestSupport
import Testing

@Suite("H.264 decoder")
struct H264DecoderTests {
  static func samples() throws -> ([EncodedSample], H264Description) {
    let encoder = try LibavH264Encoder(VideoEncoderSettings(width: 64, height: 48, frameRate: 25))
    let pool = VideoFramePool(format: VideoFormat(width: 64, height: 48), capacity: 4)
    var samples: [EncodedSample] = []
    for index in 0..<20 {
      let frame = try #require(
        pool.frame(at: MediaTime.zero + .milliseconds(Int64(index) * 40)) { buffer in
          for plane in 0..<3 {
            buffer.unsafePlane(plane).initializeMemory(as: UInt8.self, repeating: UInt8(50 + index * 5))
          }
        })
      try encoder.encode(ReleasedFrame(notPrivate: frame), forcesKeyframe: index == 0) { samples.append($0) }
    }
    return (samples, try #require(encoder.description))
  }

  @Test func `each decoded frame is delivered with its own sample`() throws {
    let (samples, description) = try Self.samples()
    let decoder = try H264Decoder(description)
    for (index, sample) in samples.enumerated() {
      let frames = decoder.decode(sample)
      #expect(frames.map(\.timestamp) == [sample.presentationTime])
      let frame = try #require(frames.first)
      #expect(frame.format.width == 64 && frame.format.height == 48 && frame.format.pixelFormat == .i420)
      #expect(abs(frame.withPlane(0) { Int($0[20]) } - (50 + index * 5)) <= 4)
    }
    #expect(decoder.corruptCount == 0)
  }

  @Test func `damaged samples do not trap`() throws {
    let (samples, description) = try Self.samples()
    var frameCount = 0
    for seed in UInt64(0)..<30 {
      var generator = SplitMix(seed: seed)
      let decoder = try H264Decoder(description)
      for (index, var sample) in samples.enumerated() {
        var bytes = Array(sample.payload.readableBytesView)
        switch Int.random(in: 0..<4, using: &generator) {
        case 0: bytes = Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &generator)))
        case 1:
          for _ in 0..<4 {
            bytes[Int.random(in: 0..<bytes.count, using: &generator)] = .random(in: 0...255, using: &generator)
          }
        case 2:
          let count = Int.random(in: 0...100, using: &generator)
          bytes = (0..<count).map { _ in .random(in: 0...255, using: &generator) }
        default: break
        }
        sample.payload = ByteBuffer(bytes: bytes)
        for frame in decoder.decode(sample) {
          #expect(frame.format.width == 64 && frame.format.height == 48, "seed \(seed), sample \(index)")
          frameCount += 1
        }
      }
    }
    #expect(frameCount > 30)
  }

  /// A description of a small video, and a keyframe that begins with parameter sets of another size.
  private static func keyframe(width: Int, height: Int) throws -> (EncodedSample, H264Description) {
    let encoder = try LibavH264Encoder(VideoEncoderSettings(width: width, height: height, frameRate: 25))
    let pool = VideoFramePool(format: VideoFormat(width: width, height: height), capacity: 1)
    let frame = try #require(
      pool.frame(at: .zero) { buffer in
        for plane in 0..<3 { buffer.unsafePlane(plane).initializeMemory(as: UInt8.self, repeating: 90) }
      })
    var samples: [EncodedSample] = []
    try encoder.encode(ReleasedFrame(notPrivate: frame), forcesKeyframe: true) { samples.append($0) }
    var sample = try #require(samples.first)
    let description = try #require(encoder.description)
    var payload = ByteBuffer()
    for unit in [description.sequenceParameterSet, description.pictureParameterSet] {
      payload.writeInteger(UInt32(unit.count))
      payload.writeBytes(unit)
    }
    payload.writeImmutableBuffer(sample.payload)
    sample.payload = payload
    return (sample, try Self.samples().1)
  }

  @Test(arguments: [(4352, 1), (4368, 0)])
  func `a keyframe of more pixels than the highest level allows, within a stream, is not decoded`(
    height: Int, count: Int
  ) throws {
    let (sample, small) = try Self.keyframe(width: 8192, height: height)
    let decoder = try H264Decoder(small)
    #expect(decoder.decode(sample).count == count && decoder.corruptCount == 1 - count)
  }

  @Test func `invalid parameter sets do not trap`() throws {
    let (samples, _) = try Self.samples()
    for set in [[], [0x67], [0x67, 1, 2, 3, 4]] as [[UInt8]] {
      let description = H264Description(
        sequenceParameterSet: set, pictureParameterSet: [], width: 64, height: 48, frameRate: 25)
      // The sets are parsed with the first sample.
      let decoder = try H264Decoder(description)
      for sample in samples { #expect(decoder.decode(sample).isEmpty) }
      #expect(decoder.corruptCount == samples.count)
    }
  }
}
