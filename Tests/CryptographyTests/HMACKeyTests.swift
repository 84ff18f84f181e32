import Cryptography
import TestSupport
import Testing

@Suite("HMAC, RFC 2104")
struct HMACKeyTests {
  private static func repeated(_ byte: UInt8, _ count: Int) -> [UInt8] { [UInt8](repeating: byte, count: count) }

  /// Keys and messages of RFC 4231 §4.2 to §4.5, §4.7 and §4.8.
  private static let sha256Cases: [(key: [UInt8], message: [UInt8], code: String)] = [
    (
      repeated(0x0b, 20), Array("Hi There".utf8),
      "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
    ),
    (
      Array("Jefe".utf8), Array("what do ya want for nothing?".utf8),
      "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    ),
    (repeated(0xaa, 20), repeated(0xdd, 50), "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"),
    (Array(1...25), repeated(0xcd, 50), "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"),
    (
      repeated(0xaa, 131), Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
      "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
    ),
    (
      repeated(0xaa, 131),
      Array(
        ("This is a test using a larger than block-size key and a larger than block-size data. "
          + "The key needs to be hashed before being used by the HMAC algorithm.").utf8),
      "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"
    ),
  ]

  /// Cases 1 to 4, 6 and 7 of RFC 2202 §3.
  private static let sha1Cases: [(key: [UInt8], message: [UInt8], code: String)] = [
    (repeated(0x0b, 20), Array("Hi There".utf8), "b617318655057264e28bc0b6fb378c8ef146be00"),
    (Array("Jefe".utf8), Array("what do ya want for nothing?".utf8), "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"),
    (repeated(0xaa, 20), repeated(0xdd, 50), "125d7342b9ac11cd91a39af48aa17b4f63f175d3"),
    (Array(1...25), repeated(0xcd, 50), "4c9007f4026250c6bc8414f9bf50c86c2d7235da"),
    (
      repeated(0xaa, 80), Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
      "aa4ae5e15272d00e95705637ce8a3b55ed402112"
    ),
    (
      repeated(0xaa, 80), Array("Test Using Larger Than Block-Size Key and Larger Than One Block-Size Data".utf8),
      "e8e99d0f45237d786d6bbaa7965c7808bbff1a91"
    ),
  ]

  @Test func `codes are those of RFC 4231 and RFC 2202`() {
    for (key, message, code) in Self.sha256Cases {
      #expect(HMACKey(key).code(of: message, .sha256) == bytes(code))
    }
    for (key, message, code) in Self.sha1Cases { #expect(HMACKey(key).code(of: message, .sha1) == bytes(code)) }
  }

  /// The code of Python's `hmac`.
  @Test func `a key may have no bytes, as a message`() {
    #expect(
      HMACKey([]).code(of: [], .sha256) == bytes("b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"))
  }

  @Test func `a key is copied, used again, and not in text`() {
    var bytes: [UInt8] = [1, 2, 3]
    let key = HMACKey(bytes)
    let code = key.code(of: [4], .sha256)
    bytes[0] = 9
    #expect(key.code(of: [4], .sha256) == code && HMACKey(bytes).code(of: [4], .sha256) != code)
    var dumped = ""
    dump(key, to: &dumped)
    #expect("\(key)" == "HMACKey" && !dumped.contains("storage"))
  }
}
