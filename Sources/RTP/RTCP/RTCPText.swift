extension StringProtocol {
  /// The text as UTF-8, cut between two characters where it is longer than the limit: RTCP tells lengths in 8 bits.
  func utf8Bytes(upTo limit: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    for scalar in self.unicodeScalars {
      guard let encoded = UTF8.encode(scalar), bytes.count + encoded.count <= limit else { break }
      bytes.append(contentsOf: encoded)
    }
    return bytes
  }
}
