import Capture
import Foundation
import Media
import TestSupport
import Testing
import Threading

@Suite("Audio generators", .timeLimit(.minutes(5)))
struct AudioGeneratorTests {
  @Test(arguments: [(48_000, 2), (44_100, 1), (22_050, 2), (8_000, 1)])
  func `the beep is 100 ms of 1 kHz at -12 dBFS from each whole second of wall-clock time on`(
    rate: Int, channels: Int
  ) throws {
    let format = AudioFormat(sampleRate: rate, channelCount: channels)
    let capturer = ToneCapturer(format: format)
    #expect(capturer.format == format)
    let collector = AudioCollector()
    try capturer.start(consumer: collector)
    let blocks = Array(collector.blocks(samples: rate * 23 / 20).prefix(115))
    capturer.stop()
    let first = try #require(blocks.first)

    // No gap and no drift: each block starts where the block before it ends.
    var count = 0
    for block in blocks {
      #expect(block.format == format)
      let expected = first.timestamp + .ticks(Int64(count), timescale: Int32(rate))
      #expect(abs((block.timestamp - expected).nanoseconds) <= 1)
      count += block.sampleCount
    }

    let samples = blocks.flatMap(\.samples)
    let start = StreamClock.system.unixTime(at: first.timestamp) % 1_000_000_000
    // Index of the first sample within its second; timestamps are rounded down to a nanosecond.
    let offset = Int(((Double(start) + 1) * Double(rate) / 1e9).rounded(.down))
    for index in 0..<count {
      let position = (offset + index) % rate
      let frame = samples[index * channels..<(index + 1) * channels]
      #expect(frame.allSatisfy { $0 == frame.first })
      guard let sample = frame.first else { continue }
      let time = Double(position) / Double(rate)
      if time >= 0.1 {
        #expect(sample == 0)
      } else {
        // -12 dB are a factor of 0.2512; the edges are faded over 2 ms.
        let wave = 0.2512 * sin(2 * .pi * 1_000 * time)
        let isEdge = time < 0.003 || time > 0.097
        #expect(isEdge ? abs(Double(sample)) <= abs(wave) + 0.001 : abs(Double(sample) - wave) < 0.001)
      }
    }
  }

  @Test func `silence is zero, continuous, and can be started again`() throws {
    let capturer = SilenceCapturer()
    let collector = AudioCollector()
    try capturer.start(consumer: collector)
    let blocks = collector.blocks(samples: 4_800)
    capturer.stop()
    #expect(blocks.count >= 10)
    #expect(blocks.allSatisfy { $0.sampleCount == 480 && $0.samples.allSatisfy { $0 == 0 } })
    let count = collector.state.read { $0.blocks.count }
    try capturer.start(consumer: collector)
    #expect(collector.blocks(samples: (count + 5) * 480).count >= count + 5)
    capturer.stop()
  }

  @Test func `blocks missed while the consumer blocks are delivered afterwards without a gap`() throws {
    final class SlowConsumer: AudioConsumer {
      let blocks = Monitor<[AudioBlock]>([])

      func consume(_ block: AudioBlock) {
        let count = self.blocks.withLock { blocks in
          blocks.append(block)
          return blocks.count
        }
        guard count == 2 else { return }
        let end = StreamClock.system.now() + .milliseconds(75)
        while StreamClock.system.now() < end {}
      }

      func captureEnded(_ error: VidiconError?) {}
    }
    let capturer = SilenceCapturer(format: AudioFormat(sampleRate: 48_000, channelCount: 1))
    let consumer = SlowConsumer()
    try capturer.start(consumer: consumer)
    _ = consumer.blocks.wait(until: StreamClock.system.now() + .seconds(300)) { $0.count >= 20 ? true : nil }
    capturer.stop()
    let blocks = consumer.blocks.read { $0 }
    #expect(blocks.count >= 20)
    for (before, after) in zip(blocks, blocks.dropFirst()) {
      #expect(abs((after.timestamp - before.timestamp - before.duration).nanoseconds) <= 1)
    }
  }

  @Test(arguments: [(44_100, 441), (22_050, 220), (8_000, 80), (50, 1)])
  func `a block lasts 10 ms, or a sample at low rates`(rate: Int, count: Int) throws {
    let capturer = SilenceCapturer(format: AudioFormat(sampleRate: rate, channelCount: 2))
    let collector = AudioCollector()
    try capturer.start(consumer: collector)
    let blocks = collector.blocks(samples: 2 * count)
    capturer.stop()
    #expect(blocks.count >= 2 && blocks.allSatisfy { $0.sampleCount == count && $0.samples.count == 2 * count })
  }
}
