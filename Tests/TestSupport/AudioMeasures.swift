internal import Media

extension [AudioBlock] {
  /// Samples of a channel, from 0 on, in order.
  package func samples(ofChannel channel: Int = 0) -> [Float] {
    self.flatMap { block in
      stride(from: channel, to: block.samples.count, by: block.format.channelCount).map { block.samples[$0] }
    }
  }

  /// Frequency of a channel's tone in Hz, by its rises above zero after the first 100 ms, in which encoders begin; 0 where it is
  /// silent.
  package func tone(ofChannel channel: Int = 0) -> Double {
    guard let rate = self.first?.format.sampleRate else { return 0 }
    let samples = [Float](self.samples(ofChannel: channel).dropFirst(rate / 10))
    guard samples.contains(where: { abs($0) > 0.05 }) else { return 0 }
    let rises = samples.indices.dropFirst().filter { samples[$0 - 1] < 0 && samples[$0] >= 0 }
    guard let first = rises.first, let last = rises.last, last > first else { return 0 }
    return Double(rises.count - 1) * Double(rate) / Double(last - first)
  }
}
