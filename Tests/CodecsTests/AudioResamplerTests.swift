import Media
import Testing

@testable import Codecs

@Suite("Audio resampler")
struct AudioResamplerTests {
  private static func resample(
    _ samples: [Float], from input: AudioFormat, to output: AudioFormat
  ) throws -> AudioBlock {
    try AudioResampler(from: input, to: output).resample(
      AudioBlock(format: input, timestamp: .zero + .seconds(1), samples: samples))
  }

  @Test func `mono is on both channels of stereo, and stereo is mixed to mono`() throws {
    let (mono, stereo) = (
      AudioFormat(sampleRate: 48_000, channelCount: 1), AudioFormat(sampleRate: 48_000, channelCount: 2)
    )
    let both = try Self.resample([0.5, -0.25, 0], from: mono, to: stereo)
    #expect(both.format == stereo && both.sampleCount == 3 && both.timestamp == .zero + .seconds(1))
    for index in 0..<3 { #expect(both.samples[2 * index] == both.samples[2 * index + 1]) }
    #expect(both.samples[0] > 0.3 && both.samples[2] < -0.15 && both.samples[4] == 0)
    let mixed = try Self.resample([0.5, 0.5, 0.5, -0.5, 0, 0], from: stereo, to: mono)
    #expect(mixed.format == mono && mixed.sampleCount == 3)
    #expect(mixed.samples[0] > 0.3 && abs(mixed.samples[1]) < 0.01 && mixed.samples[2] == 0)
  }

  @Test func `samples of the same format are unchanged`() throws {
    let format = AudioFormat(sampleRate: 44_100, channelCount: 2)
    let samples = (0..<200).map { Float($0) / 200 - 0.5 }
    #expect(try Self.resample(samples, from: format, to: format).samples == samples)
  }

  @Test(arguments: [(8_000, 48_000), (44_100, 48_000), (96_000, 44_100), (48_000, 16_000)])
  func `a tone keeps its frequency and level`(from: Int, to: Int) throws {
    let resampler = try AudioResampler(
      from: AudioFormat(sampleRate: from, channelCount: 1), to: AudioFormat(sampleRate: to, channelCount: 1))
    let input = (0..<from).map { index -> Float in
      // A square wave of 100 Hz counts its own periods.
      index * 200 / from % 2 == 0 ? 0.5 : -0.5
    }
    let output = resampler.resample(AudioBlock(format: resampler.input, timestamp: .zero, samples: input)).samples
    // Up to the filter's few milliseconds, a second in is a second out.
    #expect((to - to / 50...to).contains(output.count))
    let crossings = zip(output, output.dropFirst()).count { ($0 < 0) != ($1 < 0) }
    #expect((190...200).contains(crossings), "\(crossings)")
    // A square wave of 0.5 has that mean power, up to the frequencies that the lower rate lacks.
    let power = output.reduce(0) { $0 + $1 * $1 } / Float(output.count)
    #expect((0.23...0.26).contains(power), "\(power)")
  }

  @Test func `resampling preserves duration and position`() throws {
    let mono = AudioFormat(sampleRate: 44_100, channelCount: 1)
    let stereo = AudioFormat(sampleRate: 48_000, channelCount: 2)
    let resampler = try AudioResampler(from: mono, to: stereo)
    var (count, last) = (0, MediaTime.zero)
    for index in 0..<100 {
      let time = MediaTime(ticks: Int64(index * 441), timescale: 44_100)
      let block = resampler.resample(
        AudioBlock(format: mono, timestamp: time, samples: .init(repeating: 0, count: 441)))
      if count > 0 { #expect(abs((block.timestamp - last).nanoseconds) < 100_000) }
      count += block.sampleCount
      last = block.timestamp + block.duration
    }
    #expect(abs(count - 48_000) < 100)
  }
}
