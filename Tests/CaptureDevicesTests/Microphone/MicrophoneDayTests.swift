import Foundation
import Media
import Testing

@testable import CaptureDevices

/// A day of a microphone whose clock drifts, beside a camera whose clock is known, in virtual time.
@Suite("A day of audio and video")
struct MicrophoneDayTests {
  private static let rate = 2_000
  private static let blockSize = 200
  private static let day = 86_400.0

  /// Drift of the microphone's clock, in seconds per second: 150 millionths, and 50 more or less in the course of a day.
  private static func drift(at time: Double) -> Double {
    0.000_150 + 0.000_050 * sin(2 * .pi * time / Self.day)
  }

  @Test func `a flash and a click stay together within 5 milliseconds all day, without a gap in the audio`() throws {
    let format = AudioFormat(sampleRate: Self.rate, channelCount: 1)
    let corrector = try DriftCorrector(from: format, to: format)
    var camera = CameraTimestamps()
    var random: UInt64 = 0x9e37_79b9_7f4a_7c15
    /// Jitter of a report in seconds, 0 to 3 ms.
    func jitter() -> Double {
      random ^= random << 13
      random ^= random >> 7
      random ^= random << 17
      return Double(random % 3_000) / 1e6
    }
    func moment(_ seconds: Double) -> MediaTime { MediaTime(nanoseconds: 1_000_000_000 + Int64(seconds * 1e9)) }

    let silence = [Float](repeating: 0, count: Self.blockSize)
    var (time, minute) = (0.0, 1)
    var end: MediaTime?
    var flash: MediaTime?
    var offsets: [MediaDuration] = []
    var steps = 0
    while time < Self.day {
      let duration = Double(Self.blockSize) / Double(Self.rate) * (1 + Self.drift(at: time))
      var samples = silence
      // A click in the sample and a flash in the frame of each whole minute.
      let click = Double(minute) * 60
      if click < time + duration {
        samples[min(Int((click - time) / duration * Double(Self.blockSize)), Self.blockSize - 1)] = 1
        flash = camera.time(of: moment(click).nanoseconds, at: moment(click + 0.02 + jitter()))
        minute += 1
      }
      let block = try corrector.correct(samples, at: moment(time + jitter()))
      time += duration
      guard let block else { continue }
      if let end, block.timestamp != end { steps += 1 }
      end = block.timestamp + block.duration
      // The resampler may hold the click until the next block.
      guard let shown = flash, let index = block.samples.firstIndex(where: { $0 > 0.25 }) else { continue }
      let heard = block.timestamp + .ticks(Int64(index), timescale: Int32(Self.rate))
      offsets.append(heard - shown)
      flash = nil
    }
    #expect(offsets.count == 1440)
    #expect(steps == 0, "the encoder counts samples: a step is a gap or an overlap")
    let milliseconds = offsets.map { abs($0.seconds * 1000) }
    print("A/V offset in a day: maximum \(milliseconds.max() ?? 0) ms, at its end \(milliseconds.last ?? 0) ms")
    #expect(try #require(milliseconds.max()) < 5)
    // Uncorrected it would be 13 s.
    #expect(abs(corrector.deviation - Self.drift(at: Self.day)) < 5e-6)
  }
}
