import Media
import NIOCore
import Testing

@testable import Streaming

@Suite("AAC passthrough")
struct AACPassthroughTests {
  static let stereo = AudioFormat(sampleRate: 48_000, channelCount: 2)
  /// Configuration as libavcodec's encoder writes it: object type 2, 48 kHz, two channels, and a sync extension without
  /// SBR.
  static let announced = AACDescription(audioSpecificConfig: [0x11, 0x90, 0x56, 0xE5, 0x00], format: stereo)
  /// The same configuration without the sync extension.
  static let plain = AACDescription(audioSpecificConfig: [0x11, 0x90], format: stereo)

  /// Duration of a frame at 48 kHz.
  static func time(_ frame: Int, sampleRate: Int32 = 48_000) -> MediaTime {
    .zero + .seconds(100) + .ticks(Int64(frame) * 1024, timescale: sampleRate)
  }

  static func block(
    _ frame: Int, description: AACDescription? = plain, samples: Int = 1024, length: Int = 100,
    late: MediaDuration = .zero
  ) -> AudioBlock {
    let format = description?.format ?? Self.stereo
    return AudioBlock(
      format: format, timestamp: Self.time(frame, sampleRate: Int32(format.sampleRate)) + late,
      samples: [Float](repeating: 0, count: samples * format.channelCount),
      packet: description.map { AudioPacket(payload: ByteBuffer(bytes: [UInt8(frame & 0xFF)]), description: $0) }
        .map { packet in
          var packet = packet
          packet.payload.writeRepeatingByte(0, count: length - 1)
          return packet
        })
  }

  static func number(_ sample: EncodedSample) -> Int? { sample.payload.readableBytesView.first.map(Int.init) }

  /// Passthrough beside a simulated encoder with a delay of two frames, which receives each block that is not passed
  /// through.
  final class Rig {
    var passthrough: AACPassthrough
    private let sampleRate: Int32
    /// Start of the encoder's frames before those of the source, in samples.
    private let phase: Int
    private(set) var out: [EncodedSample] = []

    init(_ description: AACDescription = announced, isWanted: Bool = true, phase: Int = 0) {
      self.passthrough = AACPassthrough(description, isWanted: isWanted)
      self.sampleRate = Int32(description.format.sampleRate)
      self.phase = phase
    }

    /// Feeds blocks from a number on.
    func take(
      _ frames: Range<Int>, follows: Bool = true, isMuted: Bool = false, late: MediaDuration = .zero,
      block: (Int) -> AudioBlock = { AACPassthroughTests.block($0) }
    ) -> [EncodedSample] {
      var passed: [EncodedSample] = []
      for frame in frames {
        var block = block(frame)
        block.timestamp += late
        let time = self.passthrough.nextTime ?? AACPassthroughTests.time(frame, sampleRate: self.sampleRate)
        let samples = self.passthrough.samples(for: block, at: time, follows: follows, isMuted: isMuted)
        passed += samples
        self.out += samples
        guard samples.isEmpty else { continue }
        _ = self.passthrough.switchToEncoder()
        let encoded = EncodedSample(
          kind: .audio, payload: ByteBuffer(),
          presentationTime: AACPassthroughTests.time(frame - 2, sampleRate: self.sampleRate)
            - .ticks(Int64(self.phase), timescale: self.sampleRate),
          duration: .ticks(1024, timescale: self.sampleRate), isKeyframe: true)
        if let last = self.out.last, encoded.presentationTime <= last.presentationTime { continue }
        self.passthrough.encoded(encoded)
        self.out.append(encoded)
      }
      return passed
    }
  }

  @Test func `packets are passed through after a second, after the encoder's remaining frames, at even times`() throws {
    let rig = Rig()
    // 47 frames of 1024 samples are the first that last a second.
    #expect(rig.take(0..<47).isEmpty)
    let first = rig.take(47..<48)
    #expect(first.map(Self.number) == [45, 46, 47])
    #expect(first.map(\.presentationTime) == [45, 46, 47].map { Self.time($0) })
    let more = rig.take(48..<200)
    #expect(more.map(Self.number) == Array(48..<200))
    for (index, sample) in more.enumerated() {
      #expect(abs((sample.presentationTime - Self.time(48 + index)).nanoseconds) <= 2)
      #expect(sample.duration == .ticks(1024, timescale: 48_000) && sample.isKeyframe && sample.kind == .audio)
    }
    #expect(rig.passthrough.nextTime.map { abs(($0 - Self.time(200)).nanoseconds) <= 2 } == true)
    // The encoder's last frame and the first passed packet are one frame apart.
    let times = rig.out.map(\.presentationTime)
    #expect(zip(times, times.dropFirst()).allSatisfy { abs(($1 - $0).nanoseconds - 21_333_333) <= 2 })
  }

  @Test func `at a gap or an overlap the encoder continues where the packets end, for a second`() throws {
    let rig = Rig()
    _ = rig.take(0..<60)
    let next = try #require(rig.passthrough.nextTime)
    let passed = rig.passthrough.samples(for: Self.block(60), at: next, follows: false, isMuted: false)
    let (from, again) = (rig.passthrough.switchToEncoder(), rig.passthrough.switchToEncoder())
    #expect(passed.isEmpty && from == next && again == nil && rig.passthrough.nextTime == nil)
    #expect(rig.take(61..<108).isEmpty)
    #expect(rig.take(108..<109).map(Self.number) == [106, 107, 108])
  }

  @Test func `a source without one contiguous second is not passed through`() {
    let rig = Rig()
    for start in stride(from: 0, to: 4_000, by: 40) {
      #expect(rig.take(start..<start + 1, follows: false).isEmpty)
      #expect(rig.take(start + 1..<start + 40).isEmpty)
    }
  }

  @Test func `silence between two blocks interrupts the contiguous second`() {
    let rig = Rig()
    #expect(rig.take(0..<40).isEmpty)
    rig.passthrough.reset()
    #expect(rig.take(40..<87).isEmpty)
    #expect(rig.take(87..<88).map(Self.number) == [85, 86, 87])
  }

  @Test func `muted audio is not passed through, nor are packets decoded while it was muted`() throws {
    let rig = Rig()
    #expect(!rig.take(0..<60).isEmpty)
    #expect(rig.take(60..<160, isMuted: true).isEmpty)
    #expect(rig.take(160..<207).isEmpty)
    let again = rig.take(207..<210)
    #expect(again.map(Self.number) == [205, 206, 207, 208, 209])
  }

  @Test func `a switch from blocks without packets and back changes between encoder and packets`() {
    let rig = Rig()
    #expect(rig.take(0..<80) { Self.block($0, description: nil) }.isEmpty)
    #expect(rig.take(80..<81, follows: false).isEmpty)
    #expect(rig.take(81..<128).isEmpty)
    #expect(rig.take(128..<140).map(Self.number) == Array(126..<140))
    #expect(rig.take(140..<141, follows: false) { Self.block($0, description: nil) }.isEmpty)
    #expect(rig.take(141..<255) { Self.block($0, description: nil) }.isEmpty)
    #expect(rig.passthrough.nextTime == nil)
    let times = rig.out.map(\.presentationTime)
    #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 && $1 - $0 < .milliseconds(62) })
  }

  @Test(
    arguments: [
      ("another rate", [0x12, 0x10], AudioFormat(sampleRate: 44_100, channelCount: 2)),
      ("one channel", [0x11, 0x88], AudioFormat(sampleRate: 48_000, channelCount: 1)),
      ("AAC Main", [0x09, 0x90], stereo), ("960 samples", [0x11, 0x94], stereo),
      ("band replication", [0x11, 0x90, 0x56, 0xE5, 0x80], stereo), ("a layout of its own", [0x11, 0x80], stereo),
      ("damaged", [0x11], stereo), ("nothing", [], stereo),
    ] as [(String, [UInt8], AudioFormat)])
  func `audio with another configuration than announced is encoded`(
    name: String, config: [UInt8], format: AudioFormat
  ) {
    let rig = Rig()
    let description = AACDescription(audioSpecificConfig: config, format: format)
    #expect(rig.take(0..<200) { Self.block($0, description: description) }.isEmpty)
  }

  @Test func `blocks of another length than a frame are encoded`() {
    for (samples, length) in [(1023, 100), (2048, 100), (1024, 1537)] {
      let rig = Rig()
      #expect(rig.take(0..<200) { Self.block($0, samples: samples, length: length) }.isEmpty)
    }
    let rig = Rig()
    #expect(!rig.take(0..<50) { Self.block($0, length: 1536) }.isEmpty)
    let other = Rig(isWanted: false)
    #expect(other.take(0..<200).isEmpty)
    let without = Rig().take(0..<200) {
      var block = Self.block($0)
      block.packet?.payload.clear()
      return block
    }
    #expect(without.isEmpty)
  }

  @Test func `a source with a drifting clock is followed without a jump`() throws {
    for drift in [Int64(-2_000), 2_000] {
      let rig = Rig()
      _ = rig.take(0..<60)
      var farthest = Int64(0)
      // 2 µs per frame are about 100 ppm.
      for frame in 60..<20_060 {
        let late = MediaDuration(nanoseconds: Int64(frame - 60) * drift)
        let time = try #require(rig.passthrough.nextTime)
        farthest = max(farthest, abs((Self.time(frame) + late - time).nanoseconds))
        #expect(rig.take(frame..<frame + 1, late: late).count == 1)
      }
      #expect(farthest <= 5_002_004)
      let times = rig.out.map(\.presentationTime)
      let steps = zip(times, times.dropFirst()).map { ($1 - $0).nanoseconds }
      #expect(steps.allSatisfy { abs($0 - 21_333_333) <= 100_002 })
    }
  }

  @Test(arguments: [8_000, 16_000, 44_100, 48_000, 96_000])
  func `time never goes back and no gap exceeds 40 ms, wherever the encoder's frames begin`(rate: Int) throws {

    let format = AudioFormat(sampleRate: rate, channelCount: 1)
    let config = try #require(AACConfigs.plain(rate))
    let description = AACDescription(audioSpecificConfig: config, format: format)
    let frame = format.duration(ofSamples: 1024)
    for phase in stride(from: 0, through: 1023, by: 31) {
      let rig = Rig(description, phase: phase)
      let passed = rig.take(0..<150) { Self.block($0, description: description) }
      #expect(!passed.isEmpty, "\(phase)")
      let times = rig.out.map(\.presentationTime)
      #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 && $1 - $0 <= frame + .milliseconds(40) })
    }
  }
}

/// Codec descriptions of mono AAC-LC.
enum AACConfigs {
  /// Object type 2, a sample rate by its index in ISO/IEC 14496-3 table 1.18, one channel.
  static func plain(_ sampleRate: Int) -> [UInt8]? {
    let indices = [96_000: 0, 48_000: 3, 44_100: 4, 16_000: 8, 8_000: 11]
    return indices[sampleRate].map { index in [0b0001_0000 | UInt8(index >> 1), UInt8(index & 1) << 7 | 0b0000_1000] }
  }
}
