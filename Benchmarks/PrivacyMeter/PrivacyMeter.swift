import Codecs
import Effects
import Foundation
import Media

/// Searches frames as a private stream does, for tools that count instructions and seconds:
///
///     PrivacyMeter WIDTH HEIGHT RATE [FILE [SCORE]]
///
/// Reads I420 frames without padding from standard input, and prints one line of JSON; with a rate of 0 each frame is the first
/// one of a stream. Writes the luma of the frames that viewers would see, without padding, to the file. With a score, all
/// candidates from it on are covered, and none is looked at again. The search is never cut short, so that the work does not
/// depend on the machine's speed.
///
/// Part of the main package instead of Benchmarks', since holding frames back is package-internal.
@main
struct PrivacyMeter {
  private struct Cost: Codable {
    var frames = 0
    /// Runs of models: parts of the search, second looks, and those of unchanged parts among the first.
    var searches = 0
    var looks = 0
    /// Processor time of all threads per frame, in milliseconds, without the reading of frames.
    var milliseconds = 0.0
    /// Mean part of a frame that is covered.
    var covered = 0.0
  }

  static func main() throws {
    let arguments = Array(CommandLine.arguments.dropFirst())
    let numbers = arguments.prefix(3).compactMap { Int($0) }
    let score = arguments.count == 5 ? Float(arguments[4]) : nil
    guard numbers.count == 3, arguments.count < 5 || arguments.count == 5 && score != nil else {
      FileHandle.standardError.write(Data("usage: PrivacyMeter WIDTH HEIGHT RATE [FILE [SCORE]]\n".utf8))
      exit(64)
    }
    var shown: FileHandle?
    if arguments.count > 3 {
      try Data().write(to: URL(filePath: arguments[3]))
      shown = try FileHandle(forWritingTo: URL(filePath: arguments[3]))
    }
    let (width, height, rate) = (numbers[0], numbers[1], numbers[2])
    let mask = try PrivacyMask(models: FaceModels(), weakCandidates: score.map { .covered(from: $0) } ?? .lookedAtAgain)
    let chain = EffectChain([mask])
    var cost = Cost()
    var seconds = 0.0
    while let buffer = Self.read(width, height) {
      // The search forgets what it knows when time goes back.
      let time =
        rate > 0 ? MediaTime(ticks: Int64(cost.frames), timescale: Int32(rate)) : .zero - .seconds(Int64(cost.frames))
      let frame = EffectFrame(buffer: buffer, timestamp: time, budget: .seconds(600))
      let before = Self.processorTime()
      let progress = chain.advance(frame, completes: false) { .zero }
      seconds += Self.processorTime() - before
      cost.frames += 1
      for case let released? in progress.frames.map(\.released) {
        cost.covered += Self.coveredPart(released.frame)
        try shown?.write(contentsOf: Self.luma(of: released.frame))
      }
    }
    (cost.searches, cost.looks) = (mask.modelRuns.searches, mask.modelRuns.looks)
    cost.milliseconds = 1e3 * seconds / Double(max(1, cost.frames))
    cost.covered /= Double(max(1, cost.frames))
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    FileHandle.standardOutput.write(try encoder.encode(cost) + Data("\n".utf8))
  }

  private static func read(_ width: Int, _ height: Int) -> PixelBuffer? {
    let buffer = PixelBuffer(format: VideoFormat(width: width, height: height))
    for plane in 0..<3 {
      let (columns, rows) = plane == 0 ? (width, height) : ((width + 1) / 2, (height + 1) / 2)
      for row in 0..<rows {
        guard let start = buffer.unsafePlane(plane).baseAddress else { return nil }
        var count = 0
        while count < columns {
          let more = Foundation.read(0, start + row * buffer.format.bytesPerRow[plane] + count, columns - count)
          guard more > 0 else { return nil }
          count += more
        }
      }
    }
    return buffer
  }

  /// The luma of a frame, without padding.
  private static func luma(of frame: VideoFrame) -> Data {
    let (plane, stride) = (frame.buffer.unsafePlane(0), frame.buffer.format.bytesPerRow[0])
    var data = Data(capacity: frame.format.width * frame.format.height)
    for row in 0..<frame.format.height {
      data.append(contentsOf: UnsafeRawBufferPointer(rebasing: plane[row * stride..<row * stride + frame.format.width]))
    }
    return data
  }

  /// Part of a frame that has the color of covers.
  private static func coveredPart(_ frame: VideoFrame) -> Double {
    let luma = frame.buffer.unsafePlane(0)
    var count = 0
    for index in stride(from: 0, to: luma.count, by: 8) where luma[index] == 40 { count += 1 }
    return Double(count) / Double(max(1, luma.count / 8))
  }

  private static func processorTime() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + 1e-9 * Double(time.tv_nsec)
  }
}
