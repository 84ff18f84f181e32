extension StringProtocol {
  /// The UTF-8 bytes of the text, truncated at a character boundary to `limit` bytes; RTCP lengths have 8 bits.
  func utf8Bytes(upTo limit: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    for scalar in self.unicodeScalars {
      guard let encoded = UTF8.encode(scalar), bytes.count + encoded.count <= limit else { break }
      bytes.append(contentsOf: encoded)
    }
    return bytes
  }
}
