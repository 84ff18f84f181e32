import Media
import NIOCore

@testable import RTMP

/// Codecs and samples of a stream.
enum TestStream {
  /// High profile, level 3.1, 1280×720, as libx264 writes it; not to be decoded.
  static let sequenceParameterSet: [UInt8] = [
    0x67, 0x64, 0x00, 0x1F, 0xAC, 0xD9, 0x40, 0x50, 0x05, 0xBB, 0x01, 0x10, 0x00, 0x00, 0x03, 0x00, 0x10, 0x00, 0x00,
    0x03, 0x03, 0xC0, 0xF1, 0x83, 0x19, 0x60,
  ]
  static let pictureParameterSet: [UInt8] = [0x68, 0xEB, 0xE3, 0xCB, 0x22, 0xC0]

  static let h264 = CodecDescription.h264(
    H264Description(
      sequenceParameterSet: sequenceParameterSet, pictureParameterSet: pictureParameterSet, width: 1280, height: 720,
      frameRate: 30))
  /// AAC-LC, 48 kHz, stereo.
  static let aac = CodecDescription.aac(
    AACDescription(audioSpecificConfig: [0x11, 0x90], format: AudioFormat(sampleRate: 48_000, channelCount: 2)))

  /// A video sample of one slice.
  static func video(
    at time: MediaTime, size: Int = 1000, isKeyframe: Bool = false, decodeTime: MediaTime? = nil
  ) -> EncodedSample {
    var payload = ByteBuffer()
    payload.writeInteger(UInt32(size))
    payload.writeInteger(UInt8(isKeyframe ? 0x65 : 0x41))
    payload.writeRepeatingByte(0x55, count: max(0, size - 1))
    return EncodedSample(
      kind: .video, payload: payload, presentationTime: time, decodeTime: decodeTime, duration: .zero,
      isKeyframe: isKeyframe)
  }

  /// An audio sample.
  static func audio(at time: MediaTime) -> EncodedSample {
    EncodedSample(
      kind: .audio, payload: ByteBuffer(repeating: 0x21, count: 170), presentationTime: time,
      duration: .ticks(1024, timescale: 48_000), isKeyframe: true)
  }

  /// Messages as a publisher sends them: preamble, then 30 frames with audio between them.
  static func messages(from start: MediaTime = .zero) -> [RTMPMessage] {
    let packetizer = RTMPPacketizer([Self.h264, Self.aac], epoch: start)
    let samples = (0..<30).flatMap { index in
      let time = start + .ticks(Int64(index), timescale: 30)
      return [Self.video(at: time, size: index == 0 ? 70_000 : 1000, isKeyframe: index == 0), Self.audio(at: time)]
    }
    return packetizer.preamble(at: start) + samples.compactMap { packetizer.packetize($0) }
  }
}
