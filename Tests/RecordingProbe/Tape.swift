import Capture
import Codecs
import Media
import NIOCore
import Recording
import Streaming
import Synchronization

/// One encoded second of gray frames and a tone, which recordings receive again and again, as fast as they consume it.
final class Tape: Sendable {
  private let descriptions: [CodecDescription]
  private let samples: [EncodedSample]

  private static let rate = FrameRate(30)
  static let start = MediaTime.zero + .seconds(100)

  init() throws {
    let format = VideoFormat(width: 160, height: 96, frameRate: Self.rate)
    let encoder = try LibavH264Encoder(
      VideoEncoderSettings(
        width: format.width, height: format.height, frameRate: Self.rate, bitrate: 200_000,
        keyframeInterval: .seconds(1)))
    let pool = VideoFramePool(format: format)
    let audioFormat = AudioFormat(sampleRate: 48_000, channelCount: 1)
    let audioEncoder = try LibavAACEncoder(format: audioFormat, bitrate: 64_000)
    var samples: [EncodedSample] = []
    for index in 0..<Int64(30) {
      let time = Self.rate.time(ofFrame: index, from: Self.start)
      // The encoder retains no frame, so the pool always has one.
      let frame = pool.frame(at: time) { buffer in
        for plane in 0..<3 {
          buffer.unsafePlane(plane).initializeMemory(as: UInt8.self, repeating: plane > 0 ? 128 : UInt8(40 + index * 5))
        }
      }
      try encoder.encode(ReleasedFrame(notPrivate: frame!), forcesKeyframe: index == 0) { samples.append($0) }
      let tone = AudioBlock(
        format: audioFormat, timestamp: time,
        samples: (0..<1600).map { ($0 + Int(index) * 1600) / 24 % 2 == 0 ? 0.25 : -0.25 })
      try audioEncoder.encode(tone) { samples.append($0) }
    }
    self.descriptions = [.h264(encoder.description!), .aac(audioEncoder.description)]
    self.samples = samples.sorted { $0.presentationTime < $1.presentationTime }
  }

  /// The outputs of one recording.
  private final class Outputs: Sendable {
    let list = Mutex<[any StreamOutput]>([])
  }

  /// Records a number of seconds.
  ///
  /// - Parameters:
  ///   - keyframeInterval: Seconds from one keyframe to the next; those between them are not marked as such.
  ///   - fillerByteCount: Bytes of filler data in each frame, ITU-T H.264 §7.3.2.7; 0 for none.
  /// - Returns: Lines that say what became of them.
  func record(
    _ settings: RecordingSettings, seconds: Int64, keyframeInterval: Int64 = 1, fillerByteCount: Int = 0
  ) async -> [String] {
    let outputs = Outputs()
    let source = RecordingSource(
      descriptions: { self.descriptions }, requestKeyframe: {},
      add: { output in outputs.list.withLock { $0.append(output) } },
      remove: { output in outputs.list.withLock { $0.removeAll { $0 === output } } })
    let recorder = Recorder(source, settings: settings)
    do throws(VidiconError) {
      _ = try await recorder.start(at: Self.start)
    } catch {
      return ["refused \(error.code)"]
    }
    let samples = self.samples.map { Self.fill($0, byteCount: fillerByteCount) }
    for index in 0..<seconds {
      for var sample in samples {
        sample.presentationTime += .seconds(index)
        sample.decodeTime += .seconds(index)
        if sample.kind == .video, index % keyframeInterval != 0 { sample.isKeyframe = false }
        for output in outputs.list.withLock({ $0 }) { output.consume(sample) }
      }
    }
    let files = await recorder.stop(at: Self.start + .seconds(seconds))
    let status = recorder.status
    return (status.error.map { ["failed \($0.code)"] } ?? []) + files.map { "finished \($0.path)" }
      + ["ended \(status.unfinishedPartCount) \(Int(status.duration.seconds.rounded()))"]
  }

  /// Adds filler data to an access unit.
  private static func fill(_ sample: EncodedSample, byteCount: Int) -> EncodedSample {
    guard byteCount > 2, sample.kind == .video else { return sample }
    var sample = sample
    // The length of the NAL unit, its type 12, and the stop bit at its end.
    sample.payload.writeMultipleIntegers(UInt32(byteCount), UInt8(12))
    sample.payload.writeRepeatingByte(0xFF, count: byteCount - 2)
    sample.payload.writeInteger(UInt8(0x80))
    return sample
  }
}
