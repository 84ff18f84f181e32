/// Decoded pictures, luma only, one after the other.
struct Pictures {
  let width: Int
  let height: Int
  let bytes: [UInt8]

  var count: Int { self.bytes.count / (self.width * self.height) }

  /// The luma of one picture, row by row.
  subscript(index: Int) -> ArraySlice<UInt8> {
    let size = self.width * self.height
    return self.bytes[(index * size)..<((index + 1) * size)]
  }

  /// The mean luma of a picture, 0 to 255.
  func mean(_ index: Int) -> Double {
    let picture = self[index]
    return Double(picture.reduce(0) { $0 + Int($1) }) / Double(picture.count)
  }

  /// How far the luma of a picture strays from its mean: 0 for a picture of one colour.
  func deviation(_ index: Int) -> Double {
    let picture = self[index]
    let mean = self.mean(index)
    let squares = picture.reduce(0) { $0 + (Double($1) - mean) * (Double($1) - mean) }
    return (squares / Double(picture.count)).squareRoot()
  }

  /// The mean distance of the pixels of two pictures.
  func difference(_ first: Int, _ second: Int) -> Double {
    let sum = zip(self[first], self[second]).reduce(0) { $0 + abs(Int($1.0) - Int($1.1)) }
    return Double(sum) / Double(self.width * self.height)
  }
}
