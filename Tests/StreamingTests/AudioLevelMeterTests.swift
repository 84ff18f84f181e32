import Foundation
import Media
import Testing

@testable import Streaming

@Suite("Audio level meter")
struct AudioLevelMeterTests {
  private static let format = AudioFormat(sampleRate: 48_000, channelCount: 2)

  private func block(milliseconds: Int, _ sample: (Int) -> Float) -> AudioBlock {
    AudioBlock(format: Self.format, timestamp: .zero, samples: (0..<milliseconds * 96).map { sample($0 / 2) })
  }

  @Test func `a full-scale sine has a peak of 0 and an RMS of -3`() {
    var meter = AudioLevelMeter()
    let level = meter.measure(self.block(milliseconds: 100) { sin(2 * .pi * Float($0) / 48) })
    #expect(abs(level.peak) < 0.01 && abs(level.rms + 3.01) < 0.01)
  }

  @Test func `silence is -120, and so are samples that are not finite`() {
    var meter = AudioLevelMeter()
    #expect(meter.measure(self.block(milliseconds: 10) { _ in 0 }) == .silence)
    #expect(meter.measure(self.block(milliseconds: 10) { $0.isMultiple(of: 2) ? .nan : .infinity }) == .silence)
    #expect(meter.measure(self.block(milliseconds: 0) { _ in 1 }) == .silence)
  }

  @Test(arguments: [1, 7, 10, 33])
  func `the level covers the last tenth of a second`(blockLength: Int) {

    var meter = AudioLevelMeter()
    _ = meter.measure(self.block(milliseconds: 20) { _ in 0.5 })
    var level = AudioLevel.silence
    for _ in 0..<(80 / blockLength) { level = meter.measure(self.block(milliseconds: blockLength) { _ in 0 }) }
    #expect(abs(level.peak + 6.02) < 0.01 && level.rms < level.peak)
    for _ in 0..<(60 / blockLength + 1) { level = meter.measure(self.block(milliseconds: blockLength) { _ in 0 }) }
    #expect(level == .silence)
  }

  @Test func `a longer block counts with its end`() {
    var meter = AudioLevelMeter()
    #expect(meter.measure(self.block(milliseconds: 500) { $0 < 48 * 390 ? 1 : 0 }) == .silence)
  }

  @Test func `another sample rate starts again`() {
    var meter = AudioLevelMeter()
    _ = meter.measure(self.block(milliseconds: 50) { _ in 1 })
    let other = AudioFormat(sampleRate: 8000, channelCount: 1)
    #expect(
      meter.measure(AudioBlock(format: other, timestamp: .zero, samples: [0, 0.1])).peak.rounded() == -20)
  }
}
