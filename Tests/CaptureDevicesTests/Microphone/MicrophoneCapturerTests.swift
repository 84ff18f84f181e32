#if os(Linux)
import Capture
import CaptureDevices
import TestSupport
import Threading
import ALSATestDevice
import Foundation
import Media
import Testing

@Suite("Microphone capturer, with ALSA plug-ins", .serialized)
struct MicrophoneCapturerTests {
  /// Captures a number of samples, and expects all of them.
  private func capture(
    _ specification: MicrophoneSpecification, samples: Int
  ) throws -> (blocks: [AudioBlock], ends: [VidiconError?], format: AudioFormat) {
    let microphone = MicrophoneCapturer(specification)
    let collector = AudioCollector()
    try microphone.start(consumer: collector)
    let blocks = collector.blocks(samples: samples)
    microphone.stop()
    let sampleCount = blocks.reduce(0) { $0 + $1.samples.count / $1.format.channelCount }
    #expect(sampleCount >= samples)
    return (blocks, collector.state.read { $0.ends }, microphone.format)
  }

  /// Whether each block starts where the block before ends; on a busy machine also after a gap of more than 100 ms, since the device was then
  /// read too late, and its buffer had no room for more.
  private func isContinuous(_ blocks: [AudioBlock]) -> Bool {
    zip(blocks, blocks.dropFirst()).allSatisfy { before, after in
      let step = after.timestamp - before.timestamp - before.duration
      return abs(step.nanoseconds) <= 1 || (!judgesTiming && step > .milliseconds(100))
    }
  }

  @Test func `a known file arrives sample by sample, in real time`() throws {
    let device = try TestedDevice()
    let samples = (0..<24_000).map { Int16(truncatingIfNeeded: $0 &* 7_919) }
    let path = device.folder.appendingPathComponent("wave.raw").path
    try samples.withUnsafeBytes { try Data($0).write(to: URL(fileURLWithPath: path)) }
    let start = StreamClock.system.now()
    let (blocks, ends, format) = try self.capture(
      .init(name: "wave:\(path)", channelCount: 1), samples: 24_000)
    #expect(format == AudioFormat(sampleRate: 48_000, channelCount: 1))
    let received = Array(blocks.flatMap(\.samples).prefix(24_000))
    let isExact = received == samples.map { Float($0) / 32_768 }
    #expect(isExact)
    #expect(ends.isEmpty)
    // The device has no clock: timestamps go on from the current time where the capture is 200 ms behind.
    let isContinuous = self.isContinuous(blocks)
    #expect(isContinuous)
    #expect(StreamClock.system.now() - start >= .milliseconds(450), "not faster than real time")
  }

  @Test func `the null device delivers silence in real time`() throws {
    let start = StreamClock.system.now()
    let (blocks, ends, format) = try self.capture(.init(name: "null", sampleRate: 44_100), samples: 22_050)
    #expect(format == AudioFormat(sampleRate: 44_100, channelCount: 2))
    let isSilent = blocks.allSatisfy { $0.samples.allSatisfy { $0 == 0 } }
    #expect(isSilent)
    #expect(ends.isEmpty)
    #expect(StreamClock.system.now() - start >= .milliseconds(450))
  }

  @Test(arguments: ["S16_LE", "S24_3LE", "S32_LE", "FLOAT_LE", "U8"])
  func `each encoding has the same samples, also on a device with many channels`(encoding: String) throws {
    let device = try TestedDevice()
    let (blocks, ends, format) = try self.capture(
      .init(name: device.name(",FORMAT=\(encoding),CHANNELS=4")), samples: 24_000)
    #expect(format == AudioFormat(sampleRate: 48_000, channelCount: 2))
    #expect(ends.isEmpty)
    let isContinuous = self.isContinuous(blocks)
    #expect(isContinuous)
    let samples = blocks.flatMap(\.samples).dropFirst(960)
    let peak = try #require(samples.max())
    #expect(abs(peak - 0.5) < 0.02, "the third channel is louder")
  }

  @Test(arguments: [1_000, -1_000])
  func `audio of a clock with 0.1% drift stays in sync`(ppm: Int) throws {
    let device = try TestedDevice()
    let (blocks, ends, _) = try self.capture(
      .init(name: device.name(",PPM=\(ppm),JITTER=2000")), samples: 48_000 * 6)
    #expect(ends.isEmpty)
    let isContinuous = self.isContinuous(blocks)
    #expect(isContinuous)
    let last = try #require(blocks.last)
    let age = StreamClock.system.now() - last.timestamp - last.duration
    #expect(onQuietMachine(age < .milliseconds(500)))
    let samples = blocks.flatMap(\.samples)
    let maximumStep = zip(samples.dropFirst(500), samples.dropFirst(501)).map { abs($1 - $0) }.max()
    let isSmooth = try #require(maximumStep) < 0.5 * 2 * .pi / 48 * 1.02
    let isLate = zip(blocks, blocks.dropFirst()).contains {
      $1.timestamp - $0.timestamp - $0.duration > .milliseconds(100)
    }
    #expect(isSmooth || (isLate && !judgesTiming), "no sample jumps")
  }

  @Test func `the requested format is delivered whatever the device has`() throws {
    let device = try TestedDevice()
    let (blocks, _, format) = try self.capture(
      .init(name: device.name(",CHANNELS=2,RATE=48000"), sampleRate: 44_100, channelCount: 1), samples: 22_050)
    #expect(format == AudioFormat(sampleRate: 44_100, channelCount: 1))
    let isOfFormat = blocks.allSatisfy { $0.format == format }
    #expect(isOfFormat)
    let isContinuous = self.isContinuous(blocks)
    #expect(isContinuous)
  }

  @Test func `an overrun shows in the timestamps, and blocks follow`() throws {
    let device = try TestedDevice()
    let microphone = MicrophoneCapturer(.init(name: device.name()))
    let collector = AudioCollector()
    try microphone.start(consumer: collector)
    let before = collector.blocks(samples: 9_600).count
    try device.set("overrun")
    _ = collector.state.wait(until: StreamClock.system.now() + .seconds(300)) { _ in
      device.isSet("overrun") ? nil : true
    }
    // More may have arrived before the overrun than a slow test has waited for.
    let count = collector.state.read { $0.blocks.reduce(0) { $0 + $1.sampleCount } }
    let blocks = collector.blocks(samples: max(count, 9_600 * 2) + 9_600)
    microphone.stop()
    #expect(blocks.count > before)
    #expect(collector.state.read { $0.ends.isEmpty })
    let steps = zip(blocks, blocks.dropFirst()).map { ($1.timestamp - $0.timestamp - $0.duration).nanoseconds }
    let jumpCount = steps.filter { abs($0) > 1 }.count
    #expect(jumpCount >= 1)
    // A busy machine reads the device too late as well.
    #expect(onQuietMachine(jumpCount == 1))
    #expect(steps.allSatisfy { $0 > -2_000_000 })
  }

  @Test func `an unplugged device is reported once, and captured within two seconds of its return`() throws {
    let device = try TestedDevice()
    let microphone = MicrophoneCapturer(.init(name: device.name()))
    let collector = AudioCollector()
    try microphone.start(consumer: collector)
    _ = collector.blocks(samples: 4_800)
    try device.set("gone")
    let error = collector.end() ?? nil
    #expect(error?.code == .failed)
    #expect(error?.cause == "the device was disconnected")
    let count = collector.state.read { $0.blocks.count }
    #expect(microphone.isStarted)
    try device.clear("gone")
    let back = StreamClock.system.now()
    let found = collector.state.wait(until: back + .seconds(300)) { $0.blocks.count > count ? true : nil }
    #expect(found == true)
    #expect(onQuietMachine(StreamClock.system.now() - back < .seconds(2)))
    microphone.stop()
    #expect(collector.state.read { $0.ends.count } == 1)
  }

  @Test func `a device that delivers no samples counts as lost`() throws {
    let device = try TestedDevice()
    let microphone = MicrophoneCapturer(.init(name: device.name()))
    let collector = AudioCollector()
    try microphone.start(consumer: collector)
    _ = collector.blocks(samples: 4_800)
    try device.set("stalled")
    let error = collector.end() ?? nil
    #expect(error?.cause == "it delivers no audio")
    let count = collector.state.read { $0.blocks.count }
    try device.clear("stalled")
    #expect(
      collector.state.wait(until: StreamClock.system.now() + .seconds(300)) { $0.blocks.count > count ? true : nil }
        == true)
    microphone.stop()
  }

  @Test(arguments: [
    ("busy", VidiconError.Code.notPermitted, "in use"), ("forbidden", .notPermitted, "may not use"),
    ("gone", .notFound, "no such microphone"),
  ])
  func `a failed start throws the cause, and a later one succeeds`(
    failure: String, code: VidiconError.Code, cause: String
  ) throws {
    let device = try TestedDevice()
    try device.set(failure)
    let microphone = MicrophoneCapturer(.init(name: device.name()))
    let error = #expect(throws: VidiconError.self) { try microphone.start(consumer: AudioCollector()) }
    #expect(error?.code == code)
    #expect(error?.cause.contains(cause) == true, "\(String(describing: error))")
    #expect(!microphone.isStarted)
    try device.clear(failure)
    let collector = AudioCollector()
    try microphone.start(consumer: collector)
    #expect(!collector.blocks(samples: 100).isEmpty)
    microphone.stop()
  }

  @Test(arguments: ["hw:7,0", "plughw:CARD=C920", "Blue Yeti", "nothing", nil])
  func `a missing device is an error of one line`(name: String?) {
    let microphone = MicrophoneCapturer(.init(name: name))
    let error = #expect(throws: VidiconError.self) { try microphone.start(consumer: AudioCollector()) }
    #expect(error?.code == .notFound)
    #expect(error?.description.contains("\n") == false)
    #expect(error?.subject == "mic:\(name ?? "")")
  }

  @Test func `stop does not wait for a device that hangs`() async throws {
    let device = try TestedDevice()
    try device.set("hung")
    let microphone = MicrophoneCapturer(.init(name: device.name()))
    let opening = Thread { _ = try? microphone.start(consumer: AudioCollector()) }
    opening.start()
    try await eventually { microphone.isStarted || opening.isFinished }
    let before = StreamClock.system.now()
    microphone.stop()
    #expect(onQuietMachine(StreamClock.system.now() - before < .milliseconds(1_500)))
    try device.clear("hung")
  }

  @Test func `fifty starts and stops leak no descriptor and no thread`() async throws {
    let device = try TestedDevice()
    func entries(_ folder: String) throws -> [String] {
      try FileManager.default.contentsOfDirectory(atPath: "/proc/self/\(folder)")
    }
    func microphoneThreads() throws -> Int {
      try entries("task").filter { task in
        (try? String(systemFile: "/proc/self/task/\(task)/comm")) == "microphone\n"
      }.count
    }
    func timers() throws -> Int {
      try entries("fd").filter { descriptor in
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)"))?.contains("timerfd")
          == true
      }.count
    }
    let (threads, descriptors) = (try microphoneThreads(), try timers())
    let microphone = MicrophoneCapturer(.init(name: device.name()))
    for _ in 0..<50 {
      let collector = AudioCollector()
      try microphone.start(consumer: collector)
      _ = collector.blocks(samples: 1)
      let before = StreamClock.system.now()
      microphone.stop()
      #expect(onQuietMachine(StreamClock.system.now() - before < .seconds(1)))
      let count = collector.state.read { $0.blocks.count }
      #expect(count > 0)
    }
    // The system lists a thread for a moment after it was joined, and other tests have timers too.
    try await eventually { try microphoneThreads() <= threads }
    try await eventually { try timers() <= descriptors }
  }
}
#endif
