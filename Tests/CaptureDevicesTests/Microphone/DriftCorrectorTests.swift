import Foundation
import Media
import Testing

@testable import CaptureDevices

@Suite("Drift corrector")
struct DriftCorrectorTests {
  /// Feeds a device's audio to a corrector in virtual time.
  struct Player {
    let corrector: DriftCorrector
    let input: AudioFormat
    let drift: Double
    var time = MediaTime(nanoseconds: 5_000_000_000)
    var sent = 0
    var received = 0
    var begin: MediaTime?

    init(from input: AudioFormat, to output: AudioFormat, drift: Double) throws {
      self.corrector = try DriftCorrector(from: input, to: output)
      self.input = input
      self.drift = drift
    }

    /// Feeds blocks of a repeated waveform, and checks that the output has no gap.
    mutating func play(
      _ waveform: [Float], blocks: Int, of size: Int, body: (UnsafeBufferPointer<Float>) -> Void = { _ in }
    ) throws {
      let channels = self.input.channelCount
      for _ in 0..<blocks {
        let start = self.sent * channels % waveform.count
        let seconds = Double(self.sent) / Double(self.input.sampleRate) * (1 + self.drift)
        let stamp = self.time + MediaDuration(nanoseconds: Int64(seconds * 1e9))
        let block = try self.corrector.correct(Array(waveform[start..<start + size * channels]), at: stamp)
        self.sent += size
        guard let block else { continue }
        let begin = self.begin ?? block.timestamp
        self.begin = begin
        let expected = begin + .ticks(Int64(self.received), timescale: Int32(block.format.sampleRate))
        if block.timestamp != expected { Issue.record("\(block.timestamp) instead of \(expected)") }
        self.received += block.sampleCount
        block.samples.withUnsafeBufferPointer(body)
      }
    }
  }

  private static func sine(frequency: Double, rate: Int, channels: Int = 1) -> [Float] {
    (0..<rate).flatMap { index in
      Array(repeating: Float(0.5 * sin(2 * .pi * frequency * Double(index) / Double(rate))), count: channels)
    }
  }

  @Test(arguments: [0.001, -0.001])
  func `an hour of a sine is continuous, and as long as the clock says to a millisecond`(drift: Double) throws {
    let format = AudioFormat(sampleRate: 8_000, channelCount: 1)
    var player = try Player(from: format, to: format, drift: drift)
    let sine = Self.sine(frequency: 200, rate: 8_000)
    var last: Float = 0
    var maximumStep: Float = 0
    var samples = 0
    try player.play(sine, blocks: 36_000, of: 800) { output in
      for index in output.indices {
        if samples > 100 { maximumStep = max(maximumStep, abs(output[index] - last)) }
        last = output[index]
        samples += 1
      }
    }
    // The steepest slope of the sine, and a hundredth more.
    let slope = Float(0.5 * 2 * 3.141_592_65 * 200 / 8_000)
    #expect(maximumStep < slope * 1.01)
    #expect(maximumStep > slope * 0.95)
    let expected = 3_600 * (1 + drift) * 8_000
    #expect(abs(Double(player.received) - expected) < 8 + 16, "±1 ms, and the samples held by the filter")
    #expect(abs(player.corrector.deviation - drift) < 3e-6)
  }

  @Test func `the output has the requested rate and channels`() throws {
    var player = try Player(
      from: AudioFormat(sampleRate: 44_100, channelCount: 2), to: AudioFormat(sampleRate: 48_000, channelCount: 1),
      drift: 0.000_2)
    var peak: Float = 0
    try player.play(Self.sine(frequency: 441, rate: 44_100, channels: 2), blocks: 6_000, of: 441) { output in
      peak = max(peak, output.max() ?? 0)
    }
    #expect(abs(peak - 0.5) < 0.02)
    #expect(abs(Double(player.received) - 60 * 1.000_2 * 48_000) < 48 * 10)
  }

  @Test func `after a gap the timestamps step by its duration, and the resampling rate stays`() throws {
    let format = AudioFormat(sampleRate: 48_000, channelCount: 1)
    let corrector = try DriftCorrector(from: format, to: format)
    let silence = [Float](repeating: 0, count: 480)
    var end = MediaTime.zero
    for index in 0..<2_000 {
      let block = try corrector.correct(silence, at: MediaTime(nanoseconds: 10_010_000 * Int64(index)))
      if let block { end = block.timestamp + block.duration }
    }
    let deviation = corrector.deviation
    #expect(deviation > 0.000_8)
    try corrector.restart()
    let next = try #require(try corrector.correct(silence, at: end + .milliseconds(500)))
    #expect(next.timestamp == end + .milliseconds(500))
    #expect(corrector.deviation == deviation)
  }

  @Test func `without a clock samples are passed through and counted`() throws {
    let format = AudioFormat(sampleRate: 48_000, channelCount: 2)
    let corrector = try DriftCorrector(from: format, to: format, followsClock: false)
    let first = try corrector.correct([0.1, 0.2, 0.3, 0.4], at: MediaTime(nanoseconds: 7))
    #expect(first?.samples == [0.1, 0.2, 0.3, 0.4])
    #expect(first?.timestamp == MediaTime(nanoseconds: 7))
    let second = try corrector.correct([0.5, 0.6], at: MediaTime(nanoseconds: 999))
    #expect(second?.timestamp == MediaTime(nanoseconds: 7) + .ticks(2, timescale: 48_000))
    #expect(try corrector.correct([], at: .zero)?.sampleCount == nil)
  }

  @Test func `timestamps at the ends of the range do not trap`() throws {
    let format = AudioFormat(sampleRate: 8_000, channelCount: 1)
    let corrector = try DriftCorrector(from: format, to: format)
    let times = [Int64.min, .max, 0, .min, .max, .max, .min]
    var sampleCount = 0
    for time in times {
      for _ in 0..<40 {
        sampleCount += try corrector.correct([0, 0], at: MediaTime(nanoseconds: time))?.sampleCount ?? 0
      }
    }
    // Each step restarts the resampler, which holds a few samples then.
    #expect((times.count * 40...times.count * 80).contains(sampleCount), "\(sampleCount)")
    #expect(abs(corrector.deviation) < 0.01)
  }
}
