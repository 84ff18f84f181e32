import CAllocations
import Effects
import Foundation
import Media

/// Cost of effects while frames arrive at their frame rate.
struct Cost: Codable {
  /// Processor time of all threads per frame, in milliseconds.
  var process: Double
  /// Processor time of each effect on the frames' thread, in milliseconds: the mean of the lower half of the frames,
  /// since other load makes some slower.
  var effects: [Double]
  /// The mean over all frames.
  var means: [Double]
  /// Number of heap allocations during the second half of the frames.
  var allocations: UInt
  /// Maximum number of faces in a frame.
  var faces: Int
  /// Width of the largest face, in pixels.
  var width: Float
  /// Number of frames, and of those whose effects took more processor time than a frame interval.
  var frames: Int
  var late: Int

  static func measure(_ chain: EffectChain, _ input: FrameInput) throws {
    var frames: [PixelBuffer] = []
    while let buffer = input.next() { frames.append(buffer) }
    let clock = ContinuousClock()
    let interval = Duration.seconds(1 / input.rate)
    var samples = chain.effects.map { _ in [Double](repeating: 0, count: frames.count) }
    var cost = Cost(
      process: 0, effects: [], means: [], allocations: 0, faces: 0, width: 0, frames: frames.count, late: 0)
    var total = [Double](repeating: 0, count: samples.count)
    var allocations = (begin: UInt(0), end: UInt(0))
    var (spent, copying) = (0.0, 0.0)
    let work = PixelBuffer(format: VideoFormat(width: input.width, height: input.height))
    let begin = clock.now
    for index in frames.indices {
      let due = begin + interval * index
      let early = due - clock.now
      if early > .zero { usleep(UInt32(early / .microseconds(1))) }
      // From the second half on all buffers are allocated.
      if index == frames.count / 2 {
        (allocations.begin, spent) = (UInt(allocations_made()), Self.processorTime(CLOCK_PROCESS_CPUTIME_ID))
        copying = 0
      }
      // As in a stream, effects get a copy of the frame.
      let before = Self.processorTime(CLOCK_THREAD_CPUTIME_ID)
      for plane in 0..<3 {
        work.unsafePlane(plane).copyMemory(from: UnsafeRawBufferPointer(frames[index].unsafePlane(plane)))
      }
      copying += Self.processorTime(CLOCK_THREAD_CPUTIME_ID) - before
      var frame = EffectFrame(
        buffer: work, timestamp: input.time(of: index),
        budget: MediaDuration(nanoseconds: Int64(interval / .nanoseconds(1))))
      _ = chain.process(&frame) { MediaTime(nanoseconds: Int64(Self.processorTime(CLOCK_THREAD_CPUTIME_ID) * 1e9)) }
      if frame.budget == .zero { cost.late += 1 }
      cost.faces = max(cost.faces, frame.metadata.faces.count)
      for face in frame.metadata.faces where face.box.width > cost.width { cost.width = face.box.width }
      allocations.end = UInt(allocations_made())
      // Not counted: copying the array of statistics allocates.
      for (effect, statistics) in chain.statistics.enumerated() {
        let time = statistics.time.seconds
        samples[effect][index] = time - total[effect]
        total[effect] = time
      }
      allocations.begin += UInt(allocations_made()) - allocations.end
    }
    allocations.end = UInt(allocations_made())
    let half = frames.count - frames.count / 2
    cost.process = 1e3 * (Self.processorTime(CLOCK_PROCESS_CPUTIME_ID) - spent - copying) / Double(half)
    cost.allocations = allocations.end - allocations.begin
    cost.means = samples.map { 1e3 * $0.suffix(half).reduce(0, +) / Double(half) }
    cost.effects = samples.map {
      1e3 * $0.suffix(half).sorted().prefix(half / 2).reduce(0, +) / Double(max(1, half / 2))
    }
    FileHandle.standardOutput.write(try JSONEncoder().encode(cost) + Data("\n".utf8))
  }

  static func processorTime(_ clock: clockid_t) -> Double {
    var time = timespec()
    clock_gettime(clock, &time)
    return Double(time.tv_sec) + 1e-9 * Double(time.tv_nsec)
  }
}
