import Codecs
import Foundation
import Media
import NIOCore
import Recording
import Streaming
import Synchronization

/// Records encoded samples without a stream, for tools that count instructions and seconds:
///
///     RecordingMeter read FRAMES          reads 30 frames of 720p (I420, concatenated), generates a second of tone
///     RecordingMeter encode FRAMES        also encodes them
///     RecordingMeter record FRAMES FILE   also records them `rounds` times, one second after the other
///     RecordingMeter finish FRAMES FILE   records an hour of them, at about 2.3 Mb/s, and prints the duration of the
///                                         stop, and the processor time of all threads in user and kernel mode
///     RecordingMeter cost FRAMES          encodes them `rounds` times, and prints the processor time
///
/// Part of the main package instead of Benchmarks', since the recorder's clock and source are package-internal.
@main
struct RecordingMeter {
  private static let rounds = 20
  private static let size = (width: 1280, height: 720)
  private static let audioFormat = AudioFormat(sampleRate: 48_000, channelCount: 1)
  private static let start = MediaTime.zero + .seconds(100)

  static func main() {
    // With an asynchronous main the first thread waits in a way that crashes valgrind.
    Task.detached {
      do {
        try await Self.run()
        exit(0)
      } catch {
        FileHandle.standardError.write(Data("\(error)\n".utf8))
        exit(1)
      }
    }
    while true { sleep(1000) }
  }

  private static func run() async throws {
    let arguments = Array(CommandLine.arguments.dropFirst())
    guard
      let mode = arguments.first, ["read", "encode", "cost", "record", "finish"].contains(mode),
      arguments.count == (["read", "encode", "cost"].contains(mode) ? 2 : 3),
      let frames = FileHandle(forReadingAtPath: arguments[1])
    else {
      FileHandle.standardError.write(Data("usage: RecordingMeter read|encode|cost|record|finish FRAMES [FILE]\n".utf8))
      exit(64)
    }
    if mode == "cost" {
      let begin = ProcessorTime()
      for _ in 0..<Self.rounds {
        try frames.seek(toOffset: 0)
        _ = try Self.encode(frames, discards: false)
      }
      return print("{\"seconds\": \(Self.rounds), \(ProcessorTime().since(begin))}")
    }
    let second = try Self.encode(frames, discards: mode == "read")
    if ["read", "encode"].contains(mode) { return }
    let seconds = mode == "record" ? Self.rounds : 3600
    let tape = Tape(second.descriptions)
    let recorder = Recorder(
      tape.source, settings: RecordingSettings(try FilePattern(arguments[2]), existingFiles: .overwrite))
    let cost = ProcessorTime()
    _ = try await recorder.start(at: Self.start)
    for index in 0..<Int64(seconds) {
      for var sample in second.samples {
        sample.presentationTime += .seconds(index)
        sample.decodeTime += .seconds(index)
        tape.output?.consume(sample)
      }
      // Waits for the queue, as if the disk kept up.
      while recorder.status.queuedByteCount > 8 << 20 { try await Task.sleep(for: .milliseconds(1)) }
    }
    while recorder.status.queuedByteCount > 0 { try await Task.sleep(for: .milliseconds(1)) }
    let begin = ContinuousClock.now
    let files = await recorder.stop(at: Self.start + .seconds(Int64(seconds)))
    let length = (ContinuousClock.now - begin) / .seconds(1)
    guard let file = files.first, recorder.status.videoSamplesDropped == 0 else { exit(1) }
    print(
      "{\"bytes\": \(file.byteCount), \"duration\": \(file.duration.seconds), \"seconds\": \(length), "
        + "\(ProcessorTime().since(cost))}")
  }

  /// Processor time of all threads of the process so far.
  private struct ProcessorTime {
    private let user: Double
    private let kernel: Double

    init() {
      var usage = rusage()
      // RUSAGE_SELF, whose type differs between platforms.
      getrusage(0, &usage)
      self.user = Double(usage.ru_utime.tv_sec) + Double(usage.ru_utime.tv_usec) / 1e6
      self.kernel = Double(usage.ru_stime.tv_sec) + Double(usage.ru_stime.tv_usec) / 1e6
    }

    /// JSON members with the seconds since another time.
    func since(_ begin: ProcessorTime) -> String {
      "\"user\": \(self.user - begin.user), \"kernel\": \(self.kernel - begin.kernel)"
    }
  }

  /// Recording source with prepared samples instead of a stream.
  private final class Tape: Sendable {
    private let outputs = Mutex<[any StreamOutput]>([])
    private let descriptions: [CodecDescription]

    init(_ descriptions: [CodecDescription]) { self.descriptions = descriptions }

    var output: (any StreamOutput)? { self.outputs.withLock { $0.first } }

    var source: RecordingSource {
      RecordingSource(
        descriptions: { self.descriptions }, requestKeyframe: {},
        add: { output in self.outputs.withLock { $0.append(output) } },
        remove: { output in self.outputs.withLock { $0.removeAll { $0 === output } } })
    }
  }

  private struct Second {
    var descriptions: [CodecDescription]
    var samples: [EncodedSample]
  }

  private static func encode(_ frames: FileHandle, discards: Bool) throws -> Second {
    let format = VideoFormat(width: Self.size.width, height: Self.size.height, frameRate: 30)
    let encoder = try LibavH264Encoder(
      VideoEncoderSettings(width: Self.size.width, height: Self.size.height, frameRate: 30))
    let audioEncoder = try LibavAACEncoder(format: Self.audioFormat, bitrate: 64_000)
    let pool = VideoFramePool(format: format)
    let length = (0..<3).reduce(0) { $0 + format.byteCount(plane: $1) }
    var samples: [EncodedSample] = []
    for index in 0..<Int64(30) {
      guard let bytes = try frames.read(upToCount: length), bytes.count == length else { break }
      let time = FrameRate(30).time(ofFrame: index, from: Self.start)
      let frame = pool.frame(at: time) { buffer in
        var offset = bytes.startIndex
        for plane in 0..<3 {
          let target = buffer.unsafePlane(plane)
          bytes[offset..<offset + target.count].copyBytes(to: target)
          offset += target.count
        }
      }
      let tone = AudioBlock(
        format: Self.audioFormat, timestamp: time,
        samples: (0..<1600).map { ($0 + Int(index) * 1600) / 24 % 2 == 0 ? 0.25 : -0.25 })
      guard let frame, !discards else { continue }
      try encoder.encode(ReleasedFrame(notPrivate: frame), forcesKeyframe: index == 0) { samples.append($0) }
      try audioEncoder.encode(tone) { samples.append($0) }
    }
    guard !discards else { return Second(descriptions: [], samples: []) }
    guard let video = encoder.description else { exit(1) }
    return Second(descriptions: [.h264(video), .aac(audioEncoder.description)], samples: samples)
  }
}
