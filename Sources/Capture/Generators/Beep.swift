internal import Media

#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

/// The sound of ``ToneCapturer``, as a function of the sample's number.
struct Beep: Sendable {
  private let format: AudioFormat
  /// The samples of one channel, from the whole second on.
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

  /// The samples of all channels from `range.lowerBound` on, counted from a whole second.
  func samples(_ range: Range<Int64>) -> [Float] {
    let channels = self.format.channelCount
    var samples = [Float](repeating: 0, count: range.count * channels)
    let phase = Int(range.lowerBound % Int64(self.format.sampleRate))
    for index in 0..<range.count {
      // A block may reach into the next second.
      let position = phase + index < self.format.sampleRate ? phase + index : phase + index - self.format.sampleRate
      guard position < self.wave.count else { continue }
      for channel in 0..<channels {
        samples[index * channels + channel] = self.wave[position]
      }
    }
    return samples
  }
}
