import Media
import NIOCore
import Testing

@Suite("Audio blocks and formats")
struct AudioBlockTests {
  private static let cases: [(format: AudioFormat, values: Int, count: Int, nanoseconds: Int64)] = [
    (AudioFormat(sampleRate: 48_000, channelCount: 1), 960, 960, 20_000_000),
    (AudioFormat(sampleRate: 48_000, channelCount: 2), 960, 480, 10_000_000),
    (AudioFormat(sampleRate: 44_100, channelCount: 1), 1024, 1024, 23_219_954),
    (AudioFormat(sampleRate: 8_000, channelCount: 6), 0, 0, 0),
  ]

  @Test func `sample count and duration are per channel`() {
    for (format, values, count, nanoseconds) in Self.cases {
      let block = AudioBlock(format: format, timestamp: .zero, samples: [Float](repeating: 0, count: values))
      #expect(block.sampleCount == count)
      #expect(block.duration == MediaDuration(nanoseconds: nanoseconds))
    }
  }

  @Test func `modified samples lose the packet that they were decoded from`() {
    let format = AudioFormat(sampleRate: 48_000, channelCount: 1)
    let packet = AudioPacket(
      payload: ByteBuffer(bytes: [0x21, 0x10]),
      description: AACDescription(audioSpecificConfig: [0x11, 0x88], format: format))
    var block = AudioBlock(format: format, timestamp: .zero, samples: [0, 0.5], packet: packet)
    #expect(block.packet?.payload == ByteBuffer(bytes: [0x21, 0x10]))
    #expect(block.packet?.description.samplesPerFrame == 1024)
    block.timestamp = .zero + .seconds(1)
    #expect(block.packet != nil)
    block.samples[0] = 0.25
    #expect(block.packet == nil)
  }
}

@Suite("Codec descriptions and samples")
struct CodecDescriptionTests {
  @Test func `the kind follows from the codec`() {
    let h264 = H264Description(
      sequenceParameterSet: [0x67], pictureParameterSet: [0x68], width: 16, height: 16, frameRate: 25)
    let format = AudioFormat(sampleRate: 44_100, channelCount: 2)
    #expect(CodecDescription.h264(h264).kind == .video)
    #expect(CodecDescription.aac(AACDescription(audioSpecificConfig: [], format: format)).kind == .audio)
  }

  @Test func `the decoding time is the presentation time unless it is given`() {
    let time = MediaTime.zero + .milliseconds(80)
    let sample = EncodedSample(
      kind: .video, payload: ByteBuffer(), presentationTime: time, duration: .milliseconds(40), isKeyframe: true)
    #expect(sample.decodeTime == time)
    let reordered = EncodedSample(
      kind: .video, payload: ByteBuffer(), presentationTime: time, decodeTime: .zero, duration: .milliseconds(40),
      isKeyframe: false)
    #expect(reordered.decodeTime == .zero)
  }
}
