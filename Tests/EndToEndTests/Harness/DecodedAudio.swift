/// Decoded mono audio, 16 bits per sample.
struct DecodedAudio {
  let sampleRate: Int
  let samples: [Int16]

  /// Reads little-endian samples.
  init(sampleRate: Int, littleEndian bytes: [UInt8]) {
    self.sampleRate = sampleRate
    self.samples = stride(from: 0, to: bytes.count - 1, by: 2).map { index in
      Int16(bitPattern: UInt16(bytes[index]) | UInt16(bytes[index + 1]) << 8)
    }
  }

  /// Root mean square, 0 (silence) to 1.
  var level: Double {
    guard !self.samples.isEmpty else { return 0 }
    let sum = self.samples.reduce(0.0) { $0 + Double($1) * Double($1) }
    return (sum / Double(self.samples.count)).squareRoot() / 32_768
  }

  /// Frequency of a tone in Hz, by its rises above zero; 0 where it is silent.
  var tone: Double {
    guard self.level > 0.01 else { return 0 }
    let rises = self.samples.indices.dropFirst().filter { self.samples[$0 - 1] < 0 && self.samples[$0] >= 0 }
    guard let first = rises.first, let last = rises.last, last > first else { return 0 }
    return Double(rises.count - 1) * Double(self.sampleRate) / Double(last - first)
  }

  /// Times at which the level rises after at least 0.3 s of near silence, in seconds from the first sample.
  func onsets(threshold: Int16 = 2_000) -> [Double] {
    var quiet = 0
    var found: [Double] = []
    for (index, sample) in self.samples.enumerated() {
      if sample > threshold || sample < -threshold {
        if quiet > self.sampleRate * 3 / 10 { found.append(Double(index) / Double(self.sampleRate)) }
        quiet = 0
      } else {
        quiet += 1
      }
    }
    return found
  }
}
