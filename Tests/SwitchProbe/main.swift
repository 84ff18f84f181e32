// Switches the sources of a stream many times and tells what that leaves behind, for StreamingTests:
//
//   SwitchProbe SWITCHES
//
// Every third new source fails: it cannot be started, or ends before it gives anything. Before the switches and after
// them it says what the process holds, `descriptors=9 threads=4 sources=2 kilobytes=30000`, and then how often a switch
// failed and whether timestamps always rose. It is a process of its own since other tests open and close things meanwhile.

import Capture
import Foundation
import Media
import Streaming
import Synchronization

/// What a source of a test does that fails.
enum Failure: CaseIterable {
  case start, end

  func happen(_ end: (CaptureError) -> Void) throws(CaptureError) {
    let error = CaptureError(.failed, source: "broken", cause: "it is", nextStep: "mend it")
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

  func start(consumer: any VideoConsumer) throws(CaptureError) {
    try self.failure.happen { consumer.captureEnded($0) }
  }

  func stop() {}
}

final class BrokenAudio: AudioCapturer {
  let format = AudioFormat(sampleRate: 48_000, channelCount: 1)
  let isStarted = false
  private let failure: Failure

  init(_ failure: Failure) { self.failure = failure }

  func start(consumer: any AudioConsumer) throws(CaptureError) {
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

/// The sources that were made, which nobody is to keep alive.
final class Sources: Sendable {
  private struct Entry: Sendable {
    weak var source: (any AnyObject & Sendable)?
  }

  private let entries = Mutex<[Entry]>([])

  func video(_ index: Int) -> any VideoCapturer {
    let source: any VideoCapturer =
      switch index % 6 {
      case 2: BrokenVideo(.start)
      case 5: BrokenVideo(.end)
      case 0, 3: BarsCapturer(width: 320, height: 180)
      default: PlasmaCapturer(width: 160, height: 160, frameRate: 60)
      }
    self.entries.withLock { $0.append(Entry(source: source)) }
    return source
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

/// Waits until there are no more sources than are used, and no more threads; those that stopped the last ones may still be
/// on their way out, which on a busy machine takes a while. What is left behind stays for good.
func settle(_ sources: Sources, to count: Int, threads: Int = .max) async {
  let deadline = StreamClock.system.now() + .seconds(10)
  while sources.alive > count || threadCount() > threads, StreamClock.system.now() < deadline { await Task.yield() }
}

/// Tells what the process holds, once it has no more threads than it may have; returns how many these are.
func tellHoldings(of sources: Sources, threads: Int = .max) async -> Int {
  await settle(sources, to: 2, threads: threads)
  let running = threadCount()
  let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
  let resident = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
  let kilobytes = resident.flatMap { Int($0.filter(\.isNumber)) } ?? -1
  print(
    "descriptors=\(count("/proc/self/fd")) threads=\(running) sources=\(sources.alive) "
      + "kilobytes=\(kilobytes)")
  return running
}

/// Makes the system open all the threads that tasks run on, which it keeps for good.
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

/// Switches `range.count` times; returns how many of them failed.
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

guard CommandLine.arguments.count == 2, let switches = Int(CommandLine.arguments[1]) else {
  FileHandle.standardError.write(Data("usage: SwitchProbe SWITCHES\n".utf8))
  exit(64)
}
let sources = Sources()
let watcher = Watcher()
let stream = LiveStream("probe", video: VideoSettings(bitrate: 400_000))
stream.attachVideo(sources.video(0))
stream.attachAudio(sources.audio(0))
stream.add(watcher)
try await stream.start()
// The first ones make what is kept for good: memory of each size, the system's thread pool.
_ = await change(stream, sources, 0..<12)
await openThreads()
let threads = await tellHoldings(of: sources)
let failures = await change(stream, sources, 0..<switches)
_ = await tellHoldings(of: sources, threads: threads)
let encoders = (stream.statistics.videoEncoders, stream.statistics.audioEncoders)
print("failures=\(failures) encoders=\(encoders.0 + encoders.1) rises=\(watcher.rises)")
await stream.stop()
await settle(sources, to: 0)
print("ended with \(sources.alive) sources")
