import Cryptography
import TestSupport
import Testing

@Suite("Hash functions, RFC 1321, RFC 3174 and RFC 6234")
struct HashAlgorithmTests {
  /// The test suite of RFC 1321 §A.5.
  @Test(arguments: [
    ("", "d41d8cd98f00b204e9800998ecf8427e"), ("a", "0cc175b9c0f1b6a831c399e269772661"),
    ("abc", "900150983cd24fb0d6963f7d28e17f72"), ("message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
    ("abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b"),
    (
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
      "d174ab98d277d9f5a5611c2c9f419d9f"
    ),
    (String(repeating: "1234567890", count: 8), "57edf4a22be3c955ac49da2e2107b67a"),
  ])
  func `MD5 digests are those of the RFC`(message: String, digest: String) {
    #expect(HashAlgorithm.md5.digest(of: message.utf8) == bytes(digest))
  }

  /// TEST1 to TEST4 of RFC 3174 §7.3.
  @Test(arguments: [
    ("abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
    ("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", "84983e441c3bd26ebaae4aa1f95129e5e54670f1"),
    (String(repeating: "a", count: 1_000_000), "34aa973cd4c4daa4f61eeb2bdbad27316534016f"),
    (String(repeating: "01234567", count: 80), "dea356a2cddd90c7a7ecedc5ebb563934f460452"),
  ])
  func `SHA-1 digests are those of the RFC`(message: String, digest: String) {
    #expect(HashAlgorithm.sha1.digest(of: message.utf8) == bytes(digest))
  }

  /// TEST1, TEST2_1, TEST3 and TEST4 of RFC 6234 §8.5, and the digest of no bytes.
  @Test(arguments: [
    ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    (
      "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
    ),
    (
      String(repeating: "a", count: 1_000_000),
      "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
    ),
    (String(repeating: "01234567", count: 80), "594847328451bdfa85056225462cc1d867d877fb388df0ce35f25ab5562bfbb5"),
  ])
  func `SHA-256 digests are those of the RFC`(message: String, digest: String) {
    #expect(HashAlgorithm.sha256.digest(of: message.utf8) == bytes(digest))
  }

  @Test func `bytes that are not contiguous in memory have the same digest`() {
    let message = Array("message digest".utf8)
    #expect(HashAlgorithm.md5.digest(of: message.lazy.map { $0 }) == HashAlgorithm.md5.digest(of: message))
    #expect(HashAlgorithm.md5.digest(of: AnySequence(message)) == HashAlgorithm.md5.digest(of: message))
    #expect(HashAlgorithm.md5.digest(of: message.dropFirst(8)) == HashAlgorithm.md5.digest(of: Array("digest".utf8)))
  }
}
