/// Luma planes of consecutive decoded frames.
struct LumaFrames {
  let width: Int
  let height: Int
  let bytes: [UInt8]

  var count: Int { self.bytes.count / (self.width * self.height) }

  /// Luma plane of a frame, row by row.
  subscript(index: Int) -> ArraySlice<UInt8> {
    let size = self.width * self.height
    return self.bytes[(index * size)..<((index + 1) * size)]
  }

  /// Mean luma of a frame, 0 to 255.
  func mean(_ index: Int) -> Double {
    let frame = self[index]
    return Double(frame.reduce(0) { $0 + Int($1) }) / Double(frame.count)
  }

  /// Standard deviation of a frame's luma: 0 for a uniform frame.
  func deviation(_ index: Int) -> Double {
    let frame = self[index]
    let mean = self.mean(index)
    let squares = frame.reduce(0) { $0 + (Double($1) - mean) * (Double($1) - mean) }
    return (squares / Double(frame.count)).squareRoot()
  }

  /// Mean absolute difference of the pixels of two frames.
  func difference(_ first: Int, _ second: Int) -> Double {
    let sum = zip(self[first], self[second]).reduce(0) { $0 + abs(Int($1.0) - Int($1.1)) }
    return Double(sum) / Double(self.width * self.height)
  }
}
