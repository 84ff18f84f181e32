/// Decodes Base64, RFC 4648 §4, with or without padding; nil when a character is not in the alphabet.
func decodeBase64(_ text: String) -> [UInt8]? {
  var bytes: [UInt8] = []
  var bits: UInt32 = 0
  var bitCount = 0
  var digits = text.utf8[...]
  while digits.last == UInt8(ascii: "=") { digits.removeLast() }
  for digit in digits {
    let value: UInt8
    switch digit {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = digit - UInt8(ascii: "A")
    case UInt8(ascii: "a")...UInt8(ascii: "z"): value = digit - UInt8(ascii: "a") + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): value = digit - UInt8(ascii: "0") + 52
    case UInt8(ascii: "+"): value = 62
    case UInt8(ascii: "/"): value = 63
    default: return nil
    }
    bits = (bits << 6 | UInt32(value)) & 0xffff
    bitCount += 6
    if bitCount >= 8 {
      bitCount -= 8
      bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(bitCount)))
    }
  }
  return bytes
}

/// Encodes Base64, RFC 4648 §4, without padding.
func encodeBase64(_ bytes: [UInt8]) -> String {
  let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
  var text: [UInt8] = []
  var bits: UInt32 = 0
  var bitCount = 0
  for byte in bytes {
    bits = (bits << 8 | UInt32(byte)) & 0xffff
    bitCount += 8
    while bitCount >= 6 {
      bitCount -= 6
      text.append(alphabet[Int(bits >> UInt32(bitCount) & 0x3f)])
    }
  }
  if bitCount > 0 { text.append(alphabet[Int(bits << UInt32(6 - bitCount) & 0x3f)]) }
  return String(decoding: text, as: UTF8.self)
}

/// Whether both are equal, in a time that depends on their lengths only.
func isEqual(_ lhs: some Collection<UInt8>, _ rhs: some Collection<UInt8>) -> Bool {
  lhs.count == rhs.count && zip(lhs, rhs).reduce(into: UInt8(0)) { $0 |= $1.0 ^ $1.1 } == 0
}
