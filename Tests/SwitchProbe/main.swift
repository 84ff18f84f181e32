// Test program that switches the sources of a stream many times and prints which resources remain:
//
//   SwitchProbe SWITCHES [SPECIFICATION…]
//   SwitchProbe threads
//
// Video comes from the given sources in turn; without any, and for audio, from cheap test sources, every third of
// which fails: it cannot be started, or ends without delivering anything. "threads" prints the results of starts,
// switches and stops when the system has no thread left. Before and after the switches the program prints the
// resources of the process, `descriptors=9 threads=4 sources=2 mappings=0 resident=30000 allocated=7000` (mappings
// and memory in KB), and then the number of failed switches and whether timestamps always rose. It is a process of its own, since
// other tests open and close resources at the same time.

import Capture
import CaptureDevices
import Foundation
import Media
import StreamControl
import Streaming
import Synchronization
import TestSupport
import Threading

/// Failures of a test source.
enum Failure: CaseIterable {
  case start, end

  func happen(_ end: (VidiconError) -> Void) throws(VidiconError) {
    let error = VidiconError(.failed, subject: "broken", cause: "it is", nextStep: "mend it")
    switch self {
    case .start: throw error
    case .end: end(error)
    }
  }
}

final class BrokenVideo: VideoCapturer {
  let format = VideoFormat(width: 320, height: 180)
  let isStarted = false
  private let failure: Failure

  init(_ failure: Failure) { self.failure = failure }

  func start(consumer: any VideoConsumer) throws(VidiconError) {
    try self.failure.happen { consumer.captureEnded($0) }
  }

  func stop() {}
}

final class BrokenAudio: AudioCapturer {
  let format = AudioFormat(sampleRate: 48_000, channelCount: 1)
  let isStarted = false
  private let failure: Failure

  init(_ failure: Failure) { self.failure = failure }

  func start(consumer: any AudioConsumer) throws(VidiconError) {
    try self.failure.happen { consumer.captureEnded($0) }
  }

  func stop() {}
}

/// Checks that the timestamps of each track rise.
final class Watcher: StreamOutput {
  private let state = Mutex((last: [MediaKind: MediaTime](), rises: true))

  func consume(_ sample: EncodedSample) {
    self.state.withLock { state in
      if let last = state.last[sample.kind], sample.presentationTime <= last { state.rises = false }
      state.last[sample.kind] = sample.presentationTime
    }
  }

  func streamEnded() {}

  var rises: Bool { self.state.withLock { $0.rises } }
}

/// Weak references to all created sources.
final class Sources: Sendable {
  private struct Entry: Sendable {
    weak var source: (any AnyObject & Sendable)?
  }

  private let entries = Mutex<[Entry]>([])

  let specifications: [String]

  init(_ specifications: [String]) {
    self.specifications = specifications
  }

  func video(_ index: Int) throws -> any VideoCapturer {
    let source: any VideoCapturer
    if self.specifications.isEmpty {
      source = Self.drawn(index)
    } else {
      let text = self.specifications[index % self.specifications.count]
      let opened = try StreamControl.Sources(
        SourceSpecification(video: text, audio: "none"), devices: SystemDevices(), width: 320, height: 180,
        frameRate: 30)
      source = opened.video
    }
    self.entries.withLock { $0.append(Entry(source: source)) }
    return source
  }

  private static func drawn(_ index: Int) -> any VideoCapturer {
    switch index % 6 {
    case 2: BrokenVideo(.start)
    case 5: BrokenVideo(.end)
    case 0, 3: BarsCapturer(width: 320, height: 180)
    default: PlasmaCapturer(width: 160, height: 160, frameRate: 60)
    }
  }

  func audio(_ index: Int) -> any AudioCapturer {
    let source: any AudioCapturer =
      switch index % 6 {
      case 2: BrokenAudio(.start)
      case 5: BrokenAudio(.end)
      case 0, 3: ToneCapturer(format: AudioFormat(sampleRate: 48_000, channelCount: 1))
      default: SilenceCapturer(format: AudioFormat(sampleRate: 44_100, channelCount: 2))
      }
    self.entries.withLock { $0.append(Entry(source: source)) }
    return source
  }

  var alive: Int { self.entries.withLock { $0.count { $0.source != nil } } }
}

func count(_ folder: String) -> Int {
  (try? FileManager.default.contentsOfDirectory(atPath: folder).count) ?? -1
}

func threadCount() -> Int { count("/proc/self/task") }

/// Waits until only the sources in use and their threads remain: on a busy machine, threads that stop sources end with
/// a delay. A leak remains until the timeout.
func settle(_ sources: Sources, to count: Int, threads: Int = .max) async {
  let deadline = StreamClock.system.now() + .seconds(300)
  while sources.alive > count || threadCount() > threads, StreamClock.system.now() < deadline { await Task.yield() }
}

/// Allocated bytes over all of malloc's arenas; unlike resident memory, the value does not depend on caching.
func allocatedBytes() -> Int {
  // `malloc_info` is missing in Swift's glibc module; it writes XML whose last numbers are the totals of all arenas.
  typealias Function = @convention(c) (Int32, UnsafeMutablePointer<FILE>) -> Int32
  // Safe because this is glibc's declaration of the function.
  let write = unsafeBitCast(dlsym(nil, "malloc_info"), to: Function.self)
  var (text, length): (UnsafeMutablePointer<CChar>?, Int) = (nil, 0)
  guard let file = open_memstream(&text, &length), write(0, file) == 0 else { return -1 }
  fclose(file)
  defer { free(text) }
  func last(_ pattern: String) -> Int {
    let line = String(cString: text!).split(separator: "\n").last { $0.contains(pattern) }
    return line?.split(separator: "size=\"").last.flatMap { Int($0.prefix { $0 != "\"" }) } ?? 0
  }
  return last("<system type=\"current\"") + last("<total type=\"mmap\"") - last("<total type=\"fast\"")
    - last("<total type=\"rest\"")
}

/// Memory shared with devices, real or simulated, and with an X server, in KB.
///
/// The number of mappings says less: the kernel shows neighboring ones of a file as one. The simulated camera maps a buffer a second
/// time while it fills it, which the smallest of some readings leaves out.
func sharedMappingSize() -> Int {
  (0..<5).map { _ in momentarySharedMappingSize() }.min() ?? -1
}

private func momentarySharedMappingSize() -> Int {
  let maps = (try? String(systemFile: "/proc/self/maps")) ?? ""
  return maps.split(separator: "\n").reduce(0) { sum, line in
    guard ["fake camera", "/dev/video", "/memfd:", "/SYSV"].contains(where: line.contains) else { return sum }
    let bounds = line.prefix { $0 != " " }.split(separator: "-").compactMap { Int($0, radix: 16) }
    return bounds.count == 2 ? sum + (bounds[1] - bounds[0]) / 1024 : sum
  }
}

/// Prints the resources of the process once it has at most a number of threads; returns the number of threads.
func tellHoldings(of sources: Sources, threads: Int = .max) async -> Int {
  await settle(sources, to: 2, threads: threads)
  let running = threadCount()
  let status = (try? String(systemFile: "/proc/self/status")) ?? ""
  let resident = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
  let kilobytes = resident.flatMap { Int($0.filter(\.isNumber)) } ?? -1
  print(
    "descriptors=\(count("/proc/self/fd")) threads=\(running) sources=\(sources.alive) "
      + "mappings=\(sharedMappingSize()) resident=\(kilobytes) allocated=\(allocatedBytes() / 1024)")
  return running
}

/// Starts all threads of the concurrency pool, which keeps them until the process ends.
func openThreads() async {
  await withTaskGroup(of: Void.self) { group in
    for _ in 0..<ProcessInfo.processInfo.activeProcessorCount {
      group.addTask {
        let end = StreamClock.system.now() + .milliseconds(50)
        while StreamClock.system.now() < end {}
      }
    }
  }
}

/// Performs `range.count` switches; returns how many failed.
func change(_ stream: LiveStream, _ sources: Sources, _ range: Range<Int>) async -> Int {
  async let video = {
    var failures = 0
    for index in range {
      do { try await stream.switchVideo(to: sources.video(index)) } catch { failures += 1 }
    }
    return failures
  }()
  var failures = 0
  for index in range {
    do { try await stream.switchAudio(to: sources.audio(index)) } catch { failures += 1 }
  }
  return await failures + video
}

/// Makes every new thread of this process fail, or none: with a default stack larger than the address space.
func setThreadsFail(_ fail: Bool) {
  // The functions below are missing in Swift's glibc module; the attributes structure is smaller than this buffer.
  typealias Initializer = @convention(c) (UnsafeMutableRawPointer) -> Int32
  typealias Setter = @convention(c) (UnsafeMutableRawPointer, Int) -> Int32
  // Safe because these are glibc's declarations of the functions.
  func find<Function>(_ name: String) -> Function { unsafeBitCast(dlsym(nil, name), to: Function.self) }
  let (initialize, setDefault): (Initializer, Initializer) = (
    find("pthread_attr_init"), find("pthread_setattr_default_np")
  )
  let setStackSize: Setter = find("pthread_attr_setstacksize")
  withUnsafeTemporaryAllocation(byteCount: 256, alignment: 16) { attributes in
    guard let start = attributes.baseAddress else { return }
    let status = [initialize(start), setStackSize(start, fail ? 1 << 50 : 1 << 23), setDefault(start)]
    if status != [0, 0, 0] { print("threads cannot be made to fail: \(status)") }
  }
}

/// Prints the result of an operation.
func tell(_ what: String, _ body: () async throws -> Void) async {
  do {
    try await body()
    print("\(what): done")
  } catch {
    print("\(what): \(error)")
  }
}

/// Prints the results of a stream's operations without threads, and with threads again.
func tryWithoutThreads() async throws {
  let stream = LiveStream("probe")
  stream.attachVideo(BarsCapturer(width: 320, height: 180))
  stream.attachAudio(SilenceCapturer())
  try await stream.start()
  let other = LiveStream("other")
  other.attachVideo(BarsCapturer(width: 320, height: 180))
  let plasma = PlasmaCapturer(width: 160, height: 160)
  await openThreads()
  setThreadsFail(true)
  await tell("switch") { try await stream.switchVideo(to: plasma) }
  await tell("start") { try await other.start() }
  setThreadsFail(false)
  await tell("switch later") { try await stream.switchVideo(to: plasma) }
  setThreadsFail(true)
  await tell("stop") { await stream.stop() }
  print("plasma runs: \(plasma.isStarted)")
}

if CommandLine.arguments.dropFirst().elementsEqual(["threads"]) {
  try await tryWithoutThreads()
  exit(0)
}
guard CommandLine.arguments.count >= 2, let switches = Int(CommandLine.arguments[1]) else {
  FileHandle.standardError.write(Data("usage: SwitchProbe SWITCHES [SPECIFICATION…] | threads\n".utf8))
  exit(64)
}
let sources = Sources(Array(CommandLine.arguments.dropFirst(2)))
let watcher = Watcher()
let stream = LiveStream("probe", video: VideoSettings(bitrate: 400_000))
stream.attachVideo(try sources.video(0))
stream.attachAudio(sources.audio(0))
stream.add(watcher)
try await stream.start()
// The first switches allocate permanently cached resources: memory of each size, the system's thread pool.
// They end with the same source as the following ones.
_ = await change(stream, sources, 0..<(sources.specifications.isEmpty ? 12 : sources.specifications.count * 4))
await openThreads()
let threads = await tellHoldings(of: sources)
let failures = await change(stream, sources, 0..<switches)
_ = await tellHoldings(of: sources, threads: threads)
let encoders = (stream.statistics.videoEncoders, stream.statistics.audioEncoders)
print("failures=\(failures) encoders=\(encoders.0 + encoders.1) rises=\(watcher.rises)")
await stream.stop()
await settle(sources, to: 0)
print("ended with \(sources.alive) sources")
