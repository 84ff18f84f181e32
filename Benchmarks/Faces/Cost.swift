import CAllocations
import Effects
import Foundation
import Media

/// What effects take while pictures come at their pace.
struct Cost: Codable {
  /// Milliseconds of processor time a picture, of all threads.
  var process: Double
  /// The same on the pictures' own thread, for each effect; of the smallest half of the pictures the mean, since other work
  /// on the machine makes some slower.
  var effects: [Double]
  /// The mean of all.
  var means: [Double]
  /// How often memory was asked for after the first half of the pictures.
  var allocations: UInt
  /// The most faces in a picture.
  var faces: Int
  /// The width of the largest face.
  var width: Float
  /// The pictures in all, and those for which effects took more processor time than there is between two.
  var pictures: Int
  var late: Int

  static func measure(_ chain: EffectChain, _ input: FrameInput) throws {
    var pictures: [PixelBuffer] = []
    while let picture = input.next() { pictures.append(picture) }
    let clock = ContinuousClock()
    let interval = Duration.seconds(1 / input.rate)
    var samples = chain.effects.map { _ in [Double](repeating: 0, count: pictures.count) }
    var cost = Cost(
      process: 0, effects: [], means: [], allocations: 0, faces: 0, width: 0, pictures: pictures.count, late: 0)
    var total = [Double](repeating: 0, count: samples.count)
    var allocations = (begin: UInt(0), end: UInt(0))
    var (spent, copying) = (0.0, 0.0)
    let work = PixelBuffer(format: VideoFormat(width: input.width, height: input.height))
    let begin = clock.now
    for index in pictures.indices {
      let due = begin + interval * index
      let early = due - clock.now
      if early > .zero { usleep(UInt32(early / .microseconds(1))) }
      // From the second half on all memory is there.
      if index == pictures.count / 2 {
        (allocations.begin, spent) = (UInt(allocations_made()), Self.processorTime(CLOCK_PROCESS_CPUTIME_ID))
        copying = 0
      }
      // As a stream does, which gives effects a copy of their own.
      let before = Self.processorTime(CLOCK_THREAD_CPUTIME_ID)
      for plane in 0..<3 {
        work.unsafePlane(plane).copyMemory(from: UnsafeRawBufferPointer(pictures[index].unsafePlane(plane)))
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
      // Not counted: the statistics are an array.
      for (effect, statistics) in chain.statistics.enumerated() {
        let time = statistics.time.seconds
        samples[effect][index] = time - total[effect]
        total[effect] = time
      }
      allocations.begin += UInt(allocations_made()) - allocations.end
    }
    allocations.end = UInt(allocations_made())
    let half = pictures.count - pictures.count / 2
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
