import Bitstreams
import Containers
import Foundation
import Media
import NIOCore

/// Samples to put into containers.
enum TestSamples {
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

  /// A video sample of one slice with a given number of bytes.
  static func videoSample(
    at time: MediaTime, size: Int = 1000, isKeyframe: Bool = false, decodeTime: MediaTime? = nil,
    duration: MediaDuration = FrameRate(30).frameInterval
  ) -> EncodedSample {
    var payload = ByteBuffer()
    payload.writeInteger(UInt32(size))
    payload.writeInteger(UInt8(isKeyframe ? 0x65 : 0x41))
    payload.writeBytes((1..<max(1, size)).map { UInt8(truncatingIfNeeded: $0 | 1) })
    return EncodedSample(
      kind: .video, payload: payload, presentationTime: time, decodeTime: decodeTime, duration: duration,
      isKeyframe: isKeyframe)
  }

  /// An audio sample.
  static func audioSample(at time: MediaTime, size: Int = 170, sampleRate: Int32 = 48_000) -> EncodedSample {
    EncodedSample(
      kind: .audio, payload: ByteBuffer(bytes: (0..<size).map { UInt8(truncatingIfNeeded: $0) }),
      presentationTime: time, duration: .ticks(1024, timescale: sampleRate), isKeyframe: true)
  }

  /// Video at 30 frames per second with a keyframe each second, and audio, in order of time.
  static func stream(
    seconds: Int, from start: MediaTime = MediaTime(nanoseconds: 10_000_000_000), frameRate: FrameRate = 30
  ) -> [EncodedSample] {
    let rate = Int(frameRate.numerator)
    let videoSamples = (0..<seconds * rate).map {
      Self.videoSample(
        at: frameRate.time(ofFrame: Int64($0), from: start), isKeyframe: $0 % rate == 0,
        duration: frameRate.frameInterval)
    }
    let audioSamples = (0..<Int64(seconds * 48_000 / 1024)).map {
      Self.audioSample(at: start + .ticks($0 * 1024, timescale: 48_000))
    }
    return (videoSamples + audioSamples).enumerated().sorted {
      ($0.element.decodeTime, $0.offset) < ($1.element.decodeTime, $1.offset)
    }.map(\.element)
  }

  /// The stream in Tests/Captures: frames of libx264 (96×64, Baseline, two slices per frame) at 25 frames per second.
  static func capturedVideo() throws -> (description: H264Description, samples: [EncodedSample]) {
    var units: [ByteBuffer] = []
    var sets: [UInt8: [UInt8]] = [:]
    for nalUnit in AnnexBNALUnits(try Self.capture("ffmpeg-h264.h264")) {
      let bytes = Array(nalUnit.readableBytesView)
      let type = H264NALUnitType(rawValue: bytes[0])
      if type == .sequenceParameterSet || type == .pictureParameterSet { sets[type.rawValue] = bytes }
      // first_mb_in_slice is 0 when the first bit after the header is 1.
      if type.startsWithMacroblockAddress, bytes[1] & 0x80 != 0 || units.isEmpty { units.append(ByteBuffer()) }
      if type.startsWithMacroblockAddress {
        units[units.count - 1].writeInteger(UInt32(bytes.count))
        units[units.count - 1].writeBytes(bytes)
      }
    }
    let samples = units.enumerated().map { index, payload in
      let type = H264NALUnitType(rawValue: payload.getInteger(at: payload.readerIndex + 4) ?? 0)
      return EncodedSample(
        kind: .video, payload: payload, presentationTime: .zero + .milliseconds(Int64(index) * 40),
        duration: .milliseconds(40), isKeyframe: type == .idrSlice)
    }
    return (
      try H264Description(
        parsing: sets[7] ?? [], pictureParameterSet: sets[8] ?? [], frameRate: 25), samples
    )
  }

  /// The audio in Tests/Captures: AAC-LC, 44.1 kHz mono.
  static func capturedAudio() throws -> (description: AACDescription, samples: [EncodedSample]) {
    var file = try Self.capture("ffmpeg-aac.aac")
    var samples: [EncodedSample] = []
    while file.readableBytes > 0 {
      let header = try ADTSHeader(parsing: &file)
      samples.append(
        EncodedSample(
          kind: .audio, payload: file.readSlice(length: header.payloadLength) ?? ByteBuffer(),
          presentationTime: MediaTime(ticks: Int64(samples.count) * 1024, timescale: 44_100),
          duration: .ticks(1024, timescale: 44_100), isKeyframe: true))
    }
    let format = AudioFormat(sampleRate: 44_100, channelCount: 1)
    return (AACDescription(audioSpecificConfig: [0x12, 0x08], format: format), samples)
  }

  private static func capture(_ name: String) throws -> ByteBuffer {
    let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    return ByteBuffer(bytes: try Data(contentsOf: tests.appending(path: "Captures/\(name)")))
  }
}
