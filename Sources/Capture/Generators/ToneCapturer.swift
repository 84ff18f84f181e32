internal import Libc
public import Media

/// A beep each second: 100 ms of 1 kHz at -12 dBFS from each whole second of wall-clock time on, with 2 ms fades; silence
/// in between.
public final class ToneCapturer: GeneratedAudioCapturer {
  let generator: AudioGenerator

  /// A tone of any sample rate; all channels are equal.
  public init(format: AudioFormat = AudioFormat(sampleRate: 48_000, channelCount: 2)) {
    let beep = Beep(format: format)
    self.generator = AudioGenerator(name: "tone", format: format) { beep.samples($0) }
  }
}

/// The samples of ``ToneCapturer``, as a function of the sample index.
struct Beep: Sendable {
  private let format: AudioFormat
  /// The beep's samples of one channel; the first one is at the whole second.
  private let wave: [Float]

  init(format: AudioFormat) {
    let rate = Double(format.sampleRate)
    let count = format.sampleRate / 10
    let fade = max(rate * 0.002, 1)
    let amplitude = pow(10, -12.0 / 20)
    self.format = format
    self.wave = (0..<count).map { index in
      let edge = min(Double(min(index, count - 1 - index)) / fade, 1)
      return Float(amplitude * edge * sin(2 * .pi * 1_000 * Double(index) / rate))
    }
  }

  /// Returns interleaved samples.
  ///
  /// - Parameter range: Sample indices, counted from a whole second; at most one second.
  func samples(_ range: Range<Int64>) -> [Float] {
    let channels = self.format.channelCount
    var samples = [Float](repeating: 0, count: range.count * channels)
    let phase = Int(range.lowerBound % Int64(self.format.sampleRate))
    for index in 0..<range.count {
      // A block may extend into the next second.
      let position = phase + index < self.format.sampleRate ? phase + index : phase + index - self.format.sampleRate
      guard position < self.wave.count else { continue }
      for channel in 0..<channels {
        samples[index * channels + channel] = self.wave[position]
      }
    }
    return samples
  }
}
