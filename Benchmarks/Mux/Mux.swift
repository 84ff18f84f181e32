import Codecs
import Containers
import Foundation
import Media
import NIOCore

/// Encodes 720p30 frames and a tone and muxes them, for a tool that counts instructions:
///
///     MuxBenchmark read FRAMES        reads the frames (I420, concatenated) and generates the tone
///     MuxBenchmark encode FRAMES      also encodes them, as the program does
///     MuxBenchmark ts FRAMES [FILE]   also muxes them `rounds` times, with a segment at each keyframe
///     MuxBenchmark mp4 FRAMES [FILE]  or with a fragment for each 200 ms
///
/// The last round's output is written to the file. Concatenating its segments counts as muxing too.
@main
struct Mux {
  private static let rounds = 20
  private static let video = VideoFormat(width: 1280, height: 720, frameRate: 30)
  private static let audio = AudioFormat(sampleRate: 48_000, channelCount: 1)
  /// Samples of the tone per frame.
  private static let samplesPerFrame = 48_000 / 30
  private static let start = MediaTime.zero + .seconds(100)

  static func main() throws {
    let arguments = CommandLine.arguments.dropFirst()
    guard
      let mode = arguments.first, ["read", "encode", "ts", "mp4"].contains(mode),
      let path = arguments.dropFirst().first, let frames = FileHandle(forReadingAtPath: path)
    else {
      FileHandle.standardError.write(Data("usage: MuxBenchmark read|encode|ts|mp4 FRAMES [FILE]\n".utf8))
      exit(64)
    }
    let encoded = try Self.encode(frames, discards: mode == "read")
    var output = ByteBuffer()
    if mode == "ts" || mode == "mp4" {
      for _ in 0..<Self.rounds {
        output = mode == "ts" ? Self.transportStream(encoded) : Self.fragments(encoded)
      }
    }
    if let file = arguments.dropFirst(2).first { try Data(output.readableBytesView).write(to: URL(filePath: file)) }
    print("\(encoded.samples.count) samples, \(output.readableBytes) bytes")
  }

  private struct Encoded {
    var descriptions: [CodecDescription] = []
    var samples: [EncodedSample] = []
  }

  private static func encode(_ frames: FileHandle, discards: Bool) throws -> Encoded {
    var settings = VideoEncoderSettings(width: Self.video.width, height: Self.video.height, frameRate: 30)
    settings.keyframeInterval = .seconds(1)
    let videoEncoder = try LibavH264Encoder(settings)
    let audioEncoder = try LibavAACEncoder(format: Self.audio, bitrate: 64_000)
    let pool = VideoFramePool(format: Self.video)
    let length = (0..<3).reduce(0) { $0 + Self.video.byteCount(plane: $1) }
    var encoded = Encoded()
    var index: Int64 = 0
    while let bytes = try frames.read(upToCount: length), bytes.count == length {
      let time = Self.video.frameRate.time(ofFrame: index, from: Self.start)
      let frame = pool.frame(at: time) { buffer in
        var offset = bytes.startIndex
        for plane in 0..<3 {
          let target = buffer.unsafePlane(plane)
          bytes[offset..<offset + target.count].copyBytes(to: target)
          offset += target.count
        }
      }
      let audio = AudioBlock(
        format: Self.audio, timestamp: time,
        samples: (0..<Self.samplesPerFrame).map {
          0.3 * sin(Float($0) * 2 * .pi * 600 / Float(Self.audio.sampleRate))
        })
      index += 1
      guard let frame, !discards else { continue }
      try audioEncoder.encode(audio) { encoded.samples.append($0) }
      try videoEncoder.encode(ReleasedFrame(notPrivate: frame), forcesKeyframe: false) { encoded.samples.append($0) }
    }
    if let description = videoEncoder.description { encoded.descriptions.append(.h264(description)) }
    encoded.descriptions.append(.aac(audioEncoder.description))
    return encoded
  }

  private static func transportStream(_ encoded: Encoded) -> ByteBuffer {
    var muxer = TransportStreamMuxer(encoded.descriptions)
    var segments: [ByteBuffer] = []
    var segment = ByteBuffer()
    muxer.startSegment(into: &segment)
    for sample in encoded.samples {
      if sample.kind == .video, sample.isKeyframe, sample.presentationTime > Self.start {
        muxer.flush(into: &segment)
        segments.append(segment)
        segment = ByteBuffer()
        muxer.startSegment(into: &segment)
      }
      muxer.mux(sample, into: &segment)
    }
    muxer.flush(into: &segment)
    precondition(muxer.skippedSampleCount == 0, "everything is muxed")
    return (segments + [segment]).reduce(into: ByteBuffer()) { $0.writeImmutableBuffer($1) }
  }

  private static func fragments(_ encoded: Encoded) -> ByteBuffer {
    var muxer = FragmentedMP4Muxer(encoded.descriptions)
    var output = muxer.initializationSegment()
    var part: [EncodedSample] = []
    var end = Self.start + .milliseconds(200)
    for sample in encoded.samples {
      if sample.kind == .video, sample.presentationTime >= end {
        output.writeImmutableBuffer(muxer.fragment(part, nextVideoDecodeTime: sample.decodeTime))
        part.removeAll(keepingCapacity: true)
        end += .milliseconds(200)
      }
      part.append(sample)
    }
    output.writeImmutableBuffer(muxer.fragment(part))
    precondition(muxer.skippedSampleCount == 0, "everything is muxed")
    return output
  }
}
