import Codecs
import Media
import Testing

@Suite("AAC encoder")
struct LibavAACEncoderTests {
  private let format = AudioFormat(sampleRate: 48_000, channelCount: 2)

  @Test func `frame times are even and include the encoder's delay, at any block size`() throws {
    let encoder = try LibavAACEncoder(format: self.format, bitrate: 64_000)
    let start = MediaTime(nanoseconds: 5_000_000_000)
    var times: [MediaTime] = []
    for block in 0..<100 {
      let samples = [Float](repeating: 0.1, count: 441 * 2)
      try encoder.encode(
        AudioBlock(format: self.format, timestamp: start + .milliseconds(Int64(block)), samples: samples)
      ) {
        times.append($0.presentationTime)
        #expect($0.kind == .audio && $0.isKeyframe)
      }
    }
    #expect(times.first == start + .ticks(-1024, timescale: 48_000))
    for (index, time) in times.enumerated() {
      #expect(abs((time - start).nanoseconds - (Int64(index) - 1) * 1024 * 1_000_000_000 / 48_000) <= 1)
    }
    #expect(times.count == 44_100 / 1024 || times.count == 44_100 / 1024 - 1)
    #expect(encoder.nextTime == start + .ticks(44_100, timescale: 48_000))
  }

  @Test func `after a restart no earlier frame is emitted, and times continue from the new start`() throws {
    let encoder = try LibavAACEncoder(format: self.format, bitrate: 64_000)
    var samples: [EncodedSample] = []
    func encode(_ count: Int, at time: MediaTime) throws {
      let audio = (0..<count * self.format.channelCount).map { Float($0 % 100) / 200 }
      try encoder.encode(AudioBlock(format: self.format, timestamp: time, samples: audio)) { samples.append($0) }
    }
    let first = MediaTime.zero + .seconds(1)
    try encode(5 * 1024 + 700, at: first)
    #expect(samples.count == 4)
    for time in [first + .milliseconds(200), first + .seconds(60)] {
      samples = []
      encoder.restart(at: time)
      #expect(encoder.nextTime == time)
      // Two frames precede the restart; the encoder's delay is two frames.
      try encode(2 * 1024 + 1023, at: .zero)
      #expect(samples.isEmpty)
      try encode(1, at: .zero)
      try encode(4 * 1024, at: .zero)
      let expected = (0..<5).map { time + self.format.duration(ofSamples: $0 * 1024) }
      #expect(samples.count == 5)
      for (sample, time) in zip(samples, expected) {
        #expect(abs((sample.presentationTime - time).nanoseconds) <= 1)
      }
      #expect(abs((try #require(encoder.nextTime) - time - self.format.duration(ofSamples: 7 * 1024)).nanoseconds) <= 1)
    }
  }

  @Test func `the description is that of AAC-LC, 48 kHz, stereo`() throws {
    // ISO/IEC 14496-3 §1.6.2.1: object type 2 in 5 bits, frequency index 3 in 4, channels 2 in 4.
    let description = try LibavAACEncoder(format: self.format, bitrate: 64_000).description
    #expect(Array(description.audioSpecificConfig.prefix(2)) == [0x11, 0x90])
    #expect(description.samplesPerFrame == 1024)
  }

  @Test func `a sample rate that AAC lacks is an error`() {
    #expect(throws: VidiconError.self) {
      try LibavAACEncoder(format: AudioFormat(sampleRate: 12_345, channelCount: 1), bitrate: 64_000)
    }
  }
}
