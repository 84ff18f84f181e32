#if os(Linux)
import CaptureDevices
import TestSupport
import Threading
import ALSATestDevice
import Foundation
import Media
import Testing

@Suite("Microphones, by ALSA's own means", .serialized)
struct MicrophoneCapturerTests {
  /// Captures some sound.
  private func capture(
    _ specification: MicrophoneSpecification, samples: Int
  ) throws -> (blocks: [AudioBlock], ends: [VidiconError?], format: AudioFormat) {
    let microphone = MicrophoneCapturer(specification)
    let sound = AudioCollector()
    try microphone.start(consumer: sound)
    let blocks = sound.blocks(samples: samples)
    microphone.stop()
    return (blocks, sound.state.withLock { $0.ends }, microphone.format)
  }

  /// Whether each block begins where the one before ends.
  private func isEven(_ blocks: [AudioBlock]) -> Bool {
    zip(blocks, blocks.dropFirst()).allSatisfy { before, after in
      abs((after.timestamp - before.timestamp - before.duration).nanoseconds) <= 1
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
    let isEven = self.isEven(blocks)
    #expect(isEven)
    #expect(StreamClock.system.now() - start >= .milliseconds(450), "never faster than time passes")
  }

  @Test func `a null device gives silence in real time`() throws {
    let start = StreamClock.system.now()
    let (blocks, ends, format) = try self.capture(.init(name: "null", sampleRate: 44_100), samples: 22_050)
    #expect(format == AudioFormat(sampleRate: 44_100, channelCount: 2))
    let isSilent = blocks.allSatisfy { $0.samples.allSatisfy { $0 == 0 } }
    #expect(isSilent)
    #expect(ends.isEmpty)
    #expect(StreamClock.system.now() - start >= .milliseconds(450))
  }

  @Test(arguments: ["S16_LE", "S24_3LE", "S32_LE", "FLOAT_LE", "U8"])
  func `each encoding is the same sound, also of a device with many channels`(encoding: String) throws {
    let device = try TestedDevice()
    let (blocks, ends, format) = try self.capture(
      .init(name: device.name(",FORMAT=\(encoding),CHANNELS=4")), samples: 24_000)
    #expect(format == AudioFormat(sampleRate: 48_000, channelCount: 2))
    #expect(ends.isEmpty)
    let isEven = self.isEven(blocks)
    #expect(isEven)
    let samples = blocks.flatMap(\.samples).dropFirst(960)
    let peak = try #require(samples.max())
    #expect(abs(peak - 0.5) < 0.02, "the third channel is louder")
  }

  @Test(arguments: [1_000, -1_000])
  func `a clock that is wrong by a thousandth leaves sound in time`(ppm: Int) throws {
    let device = try TestedDevice()
    let (blocks, ends, _) = try self.capture(
      .init(name: device.name(",PPM=\(ppm),JITTER=2000")), samples: 48_000 * 6)
    #expect(ends.isEmpty)
    let isEven = self.isEven(blocks)
    #expect(isEven)
    let last = try #require(blocks.last)
    let age = StreamClock.system.now() - last.timestamp - last.duration
    #expect(age < .milliseconds(500))
    let samples = blocks.flatMap(\.samples)
    let steepest = zip(samples.dropFirst(500), samples.dropFirst(501)).map { abs($1 - $0) }.max()
    #expect(try #require(steepest) < 0.5 * 2 * .pi / 48 * 1.02, "no sample jumps")
  }

  @Test func `what was asked for is what comes, whatever the device has`() throws {
    let device = try TestedDevice()
    let (blocks, _, format) = try self.capture(
      .init(name: device.name(",CHANNELS=2,RATE=48000"), sampleRate: 44_100, channelCount: 1), samples: 22_050)
    #expect(format == AudioFormat(sampleRate: 44_100, channelCount: 1))
    let isOfFormat = blocks.allSatisfy { $0.format == format }
    #expect(isOfFormat)
    let isEven = self.isEven(blocks)
    #expect(isEven)
  }

  @Test func `an overrun shows in the timestamps, and sound goes on`() throws {
    let device = try TestedDevice()
    let microphone = MicrophoneCapturer(.init(name: device.name()))
    let sound = AudioCollector()
    try microphone.start(consumer: sound)
    let before = sound.blocks(samples: 9_600).count
    try device.set("overrun")
    _ = sound.state.wait(until: StreamClock.system.now() + .seconds(20)) { _ in device.isSet("overrun") ? nil : true }
    let blocks = sound.blocks(samples: 9_600 * 3)
    microphone.stop()
    #expect(blocks.count > before)
    #expect(sound.state.withLock { $0.ends.isEmpty })
    let steps = zip(blocks, blocks.dropFirst()).map { ($1.timestamp - $0.timestamp - $0.duration).nanoseconds }
    #expect(steps.filter { abs($0) > 1 }.count == 1)
    #expect(steps.allSatisfy { $0 > -2_000_000 })
  }

  @Test func `a device that is unplugged is reported once, and is back within two seconds of its return`() throws {
    let device = try TestedDevice()
    let microphone = MicrophoneCapturer(.init(name: device.name()))
    let sound = AudioCollector()
    try microphone.start(consumer: sound)
    _ = sound.blocks(samples: 4_800)
    try device.set("gone")
    let error = sound.end() ?? nil
    #expect(error?.code == .failed)
    #expect(error?.cause == "the device is gone")
    let count = sound.state.withLock { $0.blocks.count }
    #expect(microphone.isStarted)
    try device.clear("gone")
    let back = StreamClock.system.now()
    let found = sound.state.wait(until: back + .seconds(10)) { $0.blocks.count > count ? true : nil }
    #expect(found == true)
    #expect(StreamClock.system.now() - back < .seconds(2))
    microphone.stop()
    #expect(sound.state.withLock { $0.ends.count } == 1)
  }

  @Test func `a device that falls silent is lost, too`() throws {
    let device = try TestedDevice()
    let microphone = MicrophoneCapturer(.init(name: device.name()))
    let sound = AudioCollector()
    try microphone.start(consumer: sound)
    _ = sound.blocks(samples: 4_800)
    try device.set("stalled")
    let error = sound.end() ?? nil
    #expect(error?.cause == "it gives no sound")
    let count = sound.state.withLock { $0.blocks.count }
    try device.clear("stalled")
    #expect(
      sound.state.wait(until: StreamClock.system.now() + .seconds(10)) { $0.blocks.count > count ? true : nil } == true)
    microphone.stop()
  }

  @Test(arguments: [
    ("busy", VidiconError.Code.notPermitted, "in use"), ("forbidden", .notPermitted, "may not use"),
    ("gone", .notFound, "no such microphone"),
  ])
  func `what cannot be opened says why`(failure: String, code: VidiconError.Code, cause: String) throws {
    let device = try TestedDevice()
    try device.set(failure)
    let microphone = MicrophoneCapturer(.init(name: device.name()))
    let error = #expect(throws: VidiconError.self) { try microphone.start(consumer: AudioCollector()) }
    #expect(error?.code == code)
    #expect(error?.cause.contains(cause) == true, "\(String(describing: error))")
    #expect(!microphone.isStarted)
    try device.clear(failure)
    let sound = AudioCollector()
    try microphone.start(consumer: sound)
    #expect(!sound.blocks(samples: 100).isEmpty)
    microphone.stop()
  }

  @Test(arguments: ["hw:7,0", "plughw:CARD=C920", "Blue Yeti", "nothing", nil])
  func `without a device there is one clear line`(name: String?) {
    let microphone = MicrophoneCapturer(.init(name: name))
    let error = #expect(throws: VidiconError.self) { try microphone.start(consumer: AudioCollector()) }
    #expect(error?.code == .notFound)
    #expect(error?.description.contains("\n") == false)
    #expect(error?.subject == "mic:\(name ?? "")")
  }

  @Test func `stopping does not wait for a device that hangs`() throws {
    let device = try TestedDevice()
    try device.set("hung")
    let microphone = MicrophoneCapturer(.init(name: device.name()))
    let opening = Thread { _ = try? microphone.start(consumer: AudioCollector()) }
    opening.start()
    let opened = Monitor(false)
    _ = opened.wait(until: StreamClock.system.now() + .seconds(5)) { _ in microphone.isStarted ? true : nil }
    let before = StreamClock.system.now()
    microphone.stop()
    #expect(StreamClock.system.now() - before < .milliseconds(1_500))
    try device.clear("hung")
  }

  @Test func `starting and stopping fifty times leaves no descriptor and no thread behind`() throws {
    let device = try TestedDevice()
    func entries(_ folder: String) throws -> [String] {
      try FileManager.default.contentsOfDirectory(atPath: "/proc/self/\(folder)")
    }
    func microphoneThreads() throws -> Int {
      try entries("task").filter { task in
        (try? String(contentsOfFile: "/proc/self/task/\(task)/comm", encoding: .utf8)) == "microphone\n"
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
      let sound = AudioCollector()
      try microphone.start(consumer: sound)
      _ = sound.blocks(samples: 1)
      let before = StreamClock.system.now()
      microphone.stop()
      #expect(StreamClock.system.now() - before < .seconds(1))
      let count = sound.state.withLock { $0.blocks.count }
      #expect(count > 0)
    }
    #expect(try microphoneThreads() <= threads)
    #expect(try timers() <= descriptors)
  }
}
#endif
