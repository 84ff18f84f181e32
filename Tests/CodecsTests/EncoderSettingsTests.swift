import Bitstreams
import Media
import NIOCore
import Testing

@testable import Codecs

@Suite("Settings of the H.264 encoder, as seen in its output")
struct EncoderSettingsTests {
  private static func frame(_ index: Int, _ settings: VideoEncoderSettings) -> VideoFrame {
    let buffer = PixelBuffer(format: VideoFormat(width: settings.width, height: settings.height))
    for plane in 0..<3 {
      let bytes = buffer.unsafePlane(plane)
      for offset in bytes.indices { bytes[offset] = UInt8(truncatingIfNeeded: 60 + (offset >> 4) % 100 + index) }
    }
    return VideoFrame(buffer: buffer, timestamp: settings.frameRate.time(ofFrame: Int64(index), from: .zero))
  }

  private static func encode(
    _ count: Int, _ settings: VideoEncoderSettings, forced: Set<Int> = []
  ) throws -> (samples: [EncodedSample], description: H264Description) {
    let encoder = try LibavH264Encoder(settings)
    var samples: [EncodedSample] = []
    for index in 0..<count {
      try encoder.encode(ReleasedFrame(notPrivate: Self.frame(index, settings)), forcesKeyframe: forced.contains(index))
      { samples.append($0) }
    }
    return (samples, try #require(encoder.description))
  }

  /// Luma without the padding of rows.
  private static func luma(_ frame: VideoFrame) -> [UInt8] {
    let (width, bytesPerRow) = (frame.format.width, frame.format.bytesPerRow[0])
    return frame.withPlane(0) { plane in
      (0..<frame.format.height).flatMap { plane[$0 * bytesPerRow..<$0 * bytesPerRow + width] }
    }
  }

  private static func types(_ sample: EncodedSample) throws -> [H264NALUnitType] {
    try AVCCNALUnits(parsing: sample.payload).map {
      H264NALUnitType(rawValue: $0.getInteger(at: $0.readerIndex) ?? 0)
    }
  }

  @Test(arguments: [
    (64, 48, FrameRate(25)), (1920, 1080, FrameRate(30)), (176, 144, FrameRate(30_000, over: 1001)),
    (18, 34, FrameRate(1)), (720, 1280, FrameRate(60)),
  ])
  func `the parameter sets have the size, cropped to it, and the frame rate`(
    width: Int, height: Int, rate: FrameRate
  ) throws {
    let encoder = try LibavH264Encoder(VideoEncoderSettings(width: width, height: height, frameRate: rate))
    let description = try #require(encoder.description)
    let set = try H264SequenceParameterSet(parsing: description.sequenceParameterSet)
    #expect(set.width == width && set.height == height && set.frameRate == rate)
    #expect(set.isProgressive && set.chromaFormatIDC == 1 && set.bitDepthLuma == 8)
    // Players wait for as many frames as may be reordered.
    #expect(set.vui?.reorderFrames == 0)
    #expect(description.width == width && description.height == height && description.frameRate == rate)
  }

  @Test(arguments: [(ColorMatrix.bt601, 6), (.bt709, 1)] as [(ColorMatrix, UInt8)])
  func `colors are signaled in limited range, with the numbers of ITU-T H·273`(
    matrix: ColorMatrix, number: UInt8
  ) throws {
    let encoder = try LibavH264Encoder(
      VideoEncoderSettings(width: 64, height: 48, frameRate: 25, colorMatrix: matrix))
    let set = try H264SequenceParameterSet(parsing: try #require(encoder.description).sequenceParameterSet)
    #expect(
      set.vui?.colourDescription
        == .init(primaries: number, transferCharacteristics: number, matrixCoefficients: number))
    #expect(set.vui?.isFullRange == false)
  }

  @Test(
    arguments: [
      (FrameRate(10), MediaDuration.seconds(1), [0, 10, 20]), (FrameRate(5), .seconds(2), [0, 10, 20]),
      (FrameRate(25, over: 2), .milliseconds(400), [0, 5, 10, 15, 20]), (FrameRate(30), .zero, Array(0..<25)),
      (FrameRate(30), .milliseconds(1), Array(0..<25)), (FrameRate(240), .seconds(1_000_000), [0]),
    ] as [(FrameRate, MediaDuration, [Int])])
  func `keyframes come in the interval's number of frames, at least one`(
    rate: FrameRate, interval: MediaDuration, keyframes: [Int]
  ) throws {
    let settings = VideoEncoderSettings(width: 64, height: 48, frameRate: rate, keyframeInterval: interval)
    let samples = try Self.encode(25, settings).samples
    #expect(samples.indices.filter { samples[$0].isKeyframe } == keyframes)
    #expect(samples.allSatisfy { $0.duration == rate.frameInterval })
  }

  @Test func `decoding can begin at a forced keyframe, and no scene change makes another`() throws {
    let settings = VideoEncoderSettings(
      width: 64, height: 48, frameRate: 25, bitrate: 1_000_000, keyframeInterval: .seconds(100))
    let (samples, description) = try Self.encode(20, settings, forced: [7])
    #expect(samples.indices.filter { samples[$0].isKeyframe } == [0, 7])
    #expect(try Self.types(samples[7]).contains(.idrSlice))
    let decoder = try H264Decoder(description)
    var frames: [VideoFrame] = []
    for sample in samples[7...] { frames += decoder.decode(sample) }
    #expect(frames.map(\.timestamp) == samples[7...].map(\.presentationTime) && decoder.corruptCount == 0)
    let expected = Self.frame(19, settings)
    let differences = zip(Self.luma(expected), Self.luma(frames[12])).map { abs(Int($0) - Int($1)) }
    #expect(differences.reduce(0, +) / differences.count <= 3)
  }

  @Test(
    arguments: [
      (nil, "avc1.64"), (H264Profile.high, "avc1.64"), (.main, "avc1.4d"), (.baseline, "avc1.42c0"),
    ] as [(H264Profile?, String)])
  func `the profile is that of the parameter sets, and Baseline is the constrained one`(
    profile: H264Profile?, codecName: String
  ) throws {
    let settings = VideoEncoderSettings(width: 320, height: 240, frameRate: 30, profile: profile)
    let description = try #require(try LibavH264Encoder(settings).description)
    #expect(CodecDescription.h264(description).codecName.hasPrefix(codecName))
  }

  @Test func `a shorter rate control buffer makes smaller keyframes`() throws {
    func keyframeSize(_ length: MediaDuration) throws -> Int {
      let settings = VideoEncoderSettings(
        width: 320, height: 240, frameRate: 30, bitrate: 30_000, keyframeInterval: .milliseconds(500),
        rateBuffer: length)
      let keyframes = try Self.encode(91, settings).samples.filter(\.isKeyframe).dropFirst()
      return keyframes.reduce(0) { $0 + $1.payload.readableBytes } / keyframes.count
    }
    let (short, long) = (try keyframeSize(.milliseconds(250)), try keyframeSize(.seconds(2)))
    #expect(Double(short) < Double(long) * 0.9, "\(short) \(long)")
  }

  @Test func `neither delimiters nor parameter sets nor filler are in the samples`() throws {
    let settings = VideoEncoderSettings(width: 64, height: 48, frameRate: 25, bitrate: 5_000_000)
    let types = try Self.encode(5, settings).samples.map(Self.types)
    #expect(types.count == 5 && types.allSatisfy { !$0.isEmpty && $0.allSatisfy(\.isSampleData) }, "\(types)")
  }

  @Test(arguments: [(640, 360, 1), (960, 540, 2), (1280, 720, 2)])
  func `large frames are encoded in two slices, small ones in one`(width: Int, height: Int, count: Int) throws {
    let settings = VideoEncoderSettings(width: width, height: height, frameRate: 30)
    let sample = try #require(try Self.encode(1, settings).samples.first)
    #expect(try Self.types(sample).count { $0 == .idrSlice } == count)
  }

  @Test func `the encoders of this machine are those of H·264, for frames in Y'CbCr`() {
    let names = LibavH264Encoder.available
    #expect(names.contains("libx264") && !names.contains("libx264rgb") && Set(names).count == names.count)
    for name in ["libx265", "mpeg4", "aac", "", "h264"] {
      let error = #expect(throws: VidiconError.self) {
        try LibavH264Encoder(VideoEncoderSettings(width: 64, height: 48, frameRate: 25, encoder: name))
      }
      #expect(error?.code == .notFound && error?.subject == "encoder \(name)")
      #expect(error?.nextStep == "choose one of: \(names.joined(separator: ", "))")
    }
  }
}

@Suite("Settings of the AAC encoder, and time")
struct AACEncoderSettingsTests {
  /// ISO/IEC 14496-3 §1.6.2.1: object type 2 in 5 bits, frequency index in 4, channels in 4, three bits of
  /// GASpecificConfig.
  @Test(
    arguments: [
      (96_000, 2, [0x10, 0x10]), (48_000, 1, [0x11, 0x88]), (48_000, 2, [0x11, 0x90]), (44_100, 1, [0x12, 0x08]),
      (44_100, 2, [0x12, 0x10]), (32_000, 2, [0x12, 0x90]), (22_050, 1, [0x13, 0x88]), (16_000, 1, [0x14, 0x08]),
      (8_000, 1, [0x15, 0x88]),
    ] as [(Int, Int, [UInt8])])
  func `the configuration is that of AAC-LC at the rate`(rate: Int, channels: Int, config: [UInt8]) throws {
    let format = AudioFormat(sampleRate: rate, channelCount: channels)
    let description = try LibavAACEncoder(format: format, bitrate: 32_000 * channels).description
    #expect(Array(description.audioSpecificConfig.prefix(2)) == config && description.format == format)
    let parsed = try AudioSpecificConfig(parsing: description.audioSpecificConfig)
    #expect(parsed.audioObjectType == 2 && parsed.format == format && parsed.samplesPerFrame == 1024)
  }

  @Test func `a gap delays the audio after it only`() throws {
    let format = AudioFormat(sampleRate: 48_000, channelCount: 1)
    let encoder = try LibavAACEncoder(format: format, bitrate: 32_000)
    #expect(encoder.nextTime == nil)
    encoder.advance(by: .seconds(5))
    #expect(encoder.nextTime == nil)
    var times: [MediaTime] = []
    func encode(_ frames: Int) throws {
      let block = AudioBlock(format: format, timestamp: .zero, samples: .init(repeating: 0.1, count: frames * 1024))
      try encoder.encode(block) { times.append($0.presentationTime) }
    }
    try encode(4)
    let before = times
    encoder.advance(by: .seconds(5))
    #expect(encoder.nextTime == MediaTime.zero + .seconds(5) + format.duration(ofSamples: 4096))
    try encode(4)
    #expect(Array(times.prefix(before.count)) == before)
    #expect(times.dropFirst(before.count).allSatisfy { $0 >= .zero + .seconds(5) })
    #expect(times.count == before.count + 4)
  }

  @Test func `louder and richer audio takes more bytes, up to the bitrate`() throws {
    let format = AudioFormat(sampleRate: 48_000, channelCount: 2)
    func bytes(_ bitrate: Int, _ sample: (Int) -> Float) throws -> Int {
      let encoder = try LibavAACEncoder(format: format, bitrate: bitrate)
      var count = 0
      let block = AudioBlock(format: format, timestamp: .zero, samples: (0..<96_000).map(sample))
      try encoder.encode(block) { count += $0.payload.readableBytes }
      return count
    }
    var state: UInt32 = 1
    func noise(_: Int) -> Float {
      state = state &* 1_664_525 &+ 1_013_904_223
      return Float(state >> 8) / Float(1 << 24) - 0.5
    }
    let silence = try bytes(64_000) { _ in 0 }
    let (low, high) = (try bytes(64_000, noise), try bytes(160_000, noise))
    #expect(silence < 1_000 && silence * 4 < low && low < high)
    // A second at 64 and 160 kb/s.
    #expect((6_000...10_000).contains(low) && (14_000...24_000).contains(high))
  }
}
