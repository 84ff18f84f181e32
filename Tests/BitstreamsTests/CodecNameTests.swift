import Bitstreams
import Media
import Testing

@Suite("Names of codecs, RFC 6381 §3.3")
struct CodecNameTests {
  @Test(
    arguments: [
      ([0x67, 0x64, 0x00, 0x1F, 0xAC], "avc1.64001f"), ([0x67, 0x42, 0xC0, 0x0A], "avc1.42c00a"), ([], "avc1."),
    ] as [([UInt8], String)]) func `H.264 has profile, constraints and level`(set: [UInt8], name: String)
  {
    let video = H264Description(
      sequenceParameterSet: set, pictureParameterSet: [], width: 16, height: 16, frameRate: FrameRate(30))
    #expect(CodecDescription.h264(video).codecName == name)
  }

  @Test(
    arguments: [
      ([0x11, 0x90], "mp4a.40.2"), ([0x09, 0x90], "mp4a.40.1"), ([], "mp4a.40.2"),
    ] as [([UInt8], String)]) func `AAC has the type of its audio object`(config: [UInt8], name: String)
  {
    let audio = AACDescription(audioSpecificConfig: config, format: AudioFormat(sampleRate: 48_000, channelCount: 2))
    #expect(CodecDescription.aac(audio).codecName == name)
  }
}
