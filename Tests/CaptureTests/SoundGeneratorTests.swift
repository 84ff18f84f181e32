import Capture
import Media
import Testing

@Suite("Generated sound", .timeLimit(.minutes(2)))
struct SoundGeneratorTests {
  @Test(arguments: [(48_000, 2), (44_100, 1), (22_050, 2), (8_000, 1)])
  func `the beep is 100 ms of 1 kHz at -12 dBFS from the whole second of the time of day on`(
    rate: Int, channels: Int
  ) throws {
    let format = AudioFormat(sampleRate: rate, channelCount: channels)
    let capturer = ToneCapturer(format: format)
    #expect(capturer.format == format)
    let collector = SoundCollector()
    try capturer.start(consumer: collector)
    let blocks = collector.blocks(samples: rate * 23 / 20)
    capturer.stop()
    let first = try #require(blocks.first)

    // No gap and no drift: each block starts where the samples before it end.
    var count = 0
    for block in blocks {
      #expect(block.format == format)
      let expected = first.timestamp + .ticks(Int64(count), timescale: Int32(rate))
      #expect(abs((block.timestamp - expected).nanoseconds) <= 1)
      count += block.sampleCount
    }

    let samples = blocks.flatMap(\.samples)
    let start = StreamClock.system.unixTime(at: first.timestamp) % 1_000_000_000
    // The number of the first sample in its second: times are rounded down to a nanosecond.
    let offset = Int(((Double(start) + 1) * Double(rate) / 1e9).rounded(.down))
    var loudest: Float = 0
    var crossings = 0
    var previous: Float = 0
    for index in 0..<count {
      let position = (offset + index) % rate
      let frame = samples[index * channels..<(index + 1) * channels]
      #expect(frame.allSatisfy { $0 == frame.first })
      guard let sample = frame.first else { continue }
      if position >= rate / 10 {
        #expect(sample == 0)
      } else {
        loudest = max(loudest, abs(sample))
        if previous < 0, sample >= 0 { crossings += 1 }
        previous = sample
        if position == 1 { #expect(sample != 0 && abs(sample) < 0.05) }
      }
    }
    #expect(abs(loudest - 0.2512) < 0.013)
    // 1.15 seconds hold one whole beep, or the parts of two.
    #expect(crossings >= 98 && crossings <= 151)
  }

  @Test func `silence is silent and does not stop`() throws {
    let capturer = SilenceCapturer()
    let collector = SoundCollector()
    try capturer.start(consumer: collector)
    let blocks = collector.blocks(samples: 4_800)
    capturer.stop()
    #expect(blocks.count >= 10)
    #expect(blocks.allSatisfy { $0.sampleCount == 480 && $0.samples.allSatisfy { $0 == 0 } })
    let count = collector.state.withLock { $0.blocks.count }
    try capturer.start(consumer: collector)
    #expect(collector.blocks(samples: (count + 5) * 480).count >= count + 5)
    capturer.stop()
  }
}
