internal import Libc
internal import Media

/// Level of audio in decibels below full scale: 0 is full scale, -120 stands for silence.
public struct AudioLevel: Hashable, Sendable {
  /// The highest absolute value of a sample of any channel, in decibels.
  public var peak: Double
  /// The root of the mean square of all channels; a sine of full scale has -3.01.
  public var rms: Double

  /// Creates a level; both values are at most 0.
  public init(peak: Double, rms: Double) {
    self.peak = peak
    self.rms = rms
  }

  /// Level of silence: peak and RMS are -120 dB.
  public static let silence = AudioLevel(peak: Self.floor, rms: Self.floor)

  /// Lowest level reported, in decibels.
  static let floor = -120.0
}

/// Measures the level of audio over its last 100 ms.
struct AudioLevelMeter {
  /// Sums over a section of audio.
  private struct Sum {
    var count = 0
    var squares = 0.0
    var peak: Float = 0
  }

  /// Sections of the measured time: complete ones, oldest first, and the one being filled.
  private var sums: [Sum] = [Sum()]
  private var sampleRate = 0

  /// Number of complete sections in 100 ms.
  private static let sectionCount = 10

  /// Adds a block and returns the level including it.
  mutating func measure(_ block: AudioBlock) -> AudioLevel {
    if block.format.sampleRate != self.sampleRate {
      self.sampleRate = block.format.sampleRate
      self.sums = [Sum()]
    }
    let channels = block.format.channelCount
    let length = max(1, self.sampleRate * channels / 100)
    var samples = block.samples.suffix(length * Self.sectionCount)
    while !samples.isEmpty {
      let missing = max(0, length - self.sums[self.sums.count - 1].count)
      self.add(samples.prefix(missing))
      samples = samples.dropFirst(missing)
      if self.sums[self.sums.count - 1].count >= length {
        self.sums.append(Sum())
        if self.sums.count > Self.sectionCount + 1 { self.sums.removeFirst() }
      }
    }
    return self.level
  }

  private mutating func add(_ samples: ArraySlice<Float>) {
    var sum = self.sums[self.sums.count - 1]
    sum.count += samples.count
    samples.withUnsafeBufferPointer { samples in
      for sample in samples where sample.isFinite {
        sum.squares += Double(sample) * Double(sample)
        sum.peak = max(sum.peak, abs(sample))
      }
    }
    self.sums[self.sums.count - 1] = sum
  }

  private var level: AudioLevel {
    let count = self.sums.reduce(0) { $0 + $1.count }
    guard count > 0 else { return .silence }
    let squares = self.sums.reduce(0) { $0 + $1.squares }
    let peak = self.sums.reduce(0) { max($0, $1.peak) }
    return AudioLevel(
      peak: Self.decibels(Double(peak)), rms: Self.decibels((squares / Double(count)).squareRoot()))
  }

  private static func decibels(_ value: Double) -> Double {
    value > 0 ? max(AudioLevel.floor, 20 * log10(value)) : AudioLevel.floor
  }
}
