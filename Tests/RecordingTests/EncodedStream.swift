import Capture
import Codecs
import Media
import NIOCore
import Synchronization

@testable import Recording

/// Encoded audio and video, shared by all tests: each frame has its number in a timecode strip; frames flash while a
/// beep is heard, at each full second.
struct EncodedStream {
  static let shared = Result { try EncodedStream() }

  static let (width, height) = (320, 32)
  static let rate = FrameRate(30)
  static let seconds: Int64 = 36
  static let audioFormat = AudioFormat(sampleRate: 44_100, channelCount: 1)
  static let flash = MediaDuration.milliseconds(100)
  static let start = MediaTime.zero + .seconds(5000)

  private(set) var descriptions: [CodecDescription] = []
  /// All samples in order of arrival.
  private(set) var samples: [EncodedSample] = []

  private init() throws {
    let format = VideoFormat(width: Self.width, height: Self.height, frameRate: Self.rate)
    let pool = VideoFramePool(format: format)
    let encoder = try LibavH264Encoder(
      VideoEncoderSettings(
        width: Self.width, height: Self.height, frameRate: Self.rate, bitrate: 300_000, keyframeInterval: .seconds(1)))
    var samples: [EncodedSample] = []
    for index in 0..<Self.seconds * 30 {
      let time = Self.rate.time(ofFrame: index, from: Self.start)
      let frame = pool.frame(at: time) { buffer in
        let isBright = (time - Self.start).nanoseconds % 1_000_000_000 < Self.flash.nanoseconds
        for plane in 0..<3 {
          buffer.unsafePlane(plane).initializeMemory(as: UInt8.self, repeating: plane > 0 ? 128 : isBright ? 235 : 40)
        }
        TimecodeStrip.draw(
          microseconds: UInt64(index + 1), into: buffer.unsafePlane(0), width: Self.width, height: Self.height,
          bytesPerRow: format.bytesPerRow[0])
      }
      // The encoder retains no frame, so the pool always has one.
      try encoder.encode(ReleasedFrame(notPrivate: frame!), forcesKeyframe: index % 15 == 0) { samples.append($0) }
    }
    let audioEncoder = try LibavAACEncoder(format: Self.audioFormat, bitrate: 64_000)
    let blockLength = 441
    for block in 0..<Self.seconds * 100 {
      let values = (0..<blockLength).map { offset -> Float in
        let position = Int(block) * blockLength + offset
        let isLoud = position % 44_100 < 4_410
        return isLoud ? (position / 22 % 2 == 0 ? 0.5 : -0.5) : 0
      }
      try audioEncoder.encode(
        AudioBlock(
          format: Self.audioFormat, timestamp: Self.start + .ticks(block * Int64(blockLength), timescale: 44_100),
          samples: values)
      ) { samples.append($0) }
    }
    self.descriptions = [.h264(encoder.description!), .aac(audioEncoder.description)]
    self.samples = samples.sorted { Self.arrival($0) < Self.arrival($1) }
  }

  /// Arrival time of a sample: audio arrives 70 ms after the video frames of its time.
  static func arrival(_ sample: EncodedSample) -> MediaTime {
    sample.presentationTime + (sample.kind == .audio ? .milliseconds(70) : .zero)
  }

  /// Time on the stream's clock, in seconds since its start.
  static func time(_ seconds: Double) -> MediaTime {
    Self.start + MediaDuration(nanoseconds: Int64(seconds * 1e9))
  }
}
