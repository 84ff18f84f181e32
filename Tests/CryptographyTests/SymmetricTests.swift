import Cryptography
import TestSupport
import Testing

@Suite("AES in counter mode, scrypt, and comparison")
struct SymmetricTests {
  /// SP 800-38A F.5.1: the ciphertext XOR the plaintext; RFC 3711 B.2, whose counter has two bytes.
  @Test(arguments: [
    (
      "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff",
      """
      ec8cdf7398607cb0f2d21675ea9ea1e4 362b7c3c6773516318a077d7fc5073ae
      6a2cc3787889374fbeb4c81b17ba6c44 e89c399ff0f198c6d40a31db156cabfe
      """
    ),
    (
      "f0f1f2f3f4f5f6f7f8f9fafbfcfd0000",
      "e03ead0935c95e80e166b16dd92b4eb4 d23513162b02d0f72a43a2fe4a5f97ab 41e95b3bb0a2e8dd477901e4fca894c0"
    ),
  ])
  func `the key stream of AES-128 is that of the standards, of any length`(counter: String, stream: String) {
    let (key, stream) = (bytes("2b7e151628aed2a6abf7158809cf4f3c"), bytes(stream))
    for count in 0...stream.count {
      #expect(AES128.keyStream(key: key, counter: bytes(counter), count: count) == Array(stream.prefix(count)))
    }
  }

  /// RFC 7914 §12; the password and salt of the first case have no bytes.
  @Test(arguments: [
    (
      "", "", 16, 1, 1,
      """
      77d6576238657b203b19ca42c18a0497f16b4844e3074ae8dfdffa3fede21442
      fcd0069ded0948f8326a753a0fc81f17e8d3e0fb2e0d3628cf35e20c38d18906
      """
    ),
    (
      "password", "NaCl", 1024, 8, 16,
      """
      fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b373162
      2eaf30d92e22a3886ff109279d9830dac727afb94a83ee6d8360cbdfa2cc0640
      """
    ),
    (
      "pleaseletmein", "SodiumChloride", 16384, 8, 1,
      """
      7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2
      d5432955613f0fcf62d49705242a9af9e61e85dc0d651e40dfcf017b45575887
      """
    ),
  ])
  func `keys of scrypt are those of RFC 7914`(
    password: String, salt: String, rounds: Int, blockSize: Int, parallelism: Int, key: String
  ) {
    #expect(
      Scrypt.derive(
        password.utf8, salt: salt.utf8, rounds: rounds, blockSize: blockSize, parallelism: parallelism, count: 64)
        == bytes(key))
  }

  @Test func `scrypt refuses what is no parameter, and more than 32 MiB`() {
    for (rounds, blockSize, parallelism, count) in [
      (0, 8, 1, 32), (1, 8, 1, 32), (15, 8, 1, 32), (-16, 8, 1, 32), (16, 0, 1, 32), (16, 8, 0, 32), (16, 8, 1, 0),
      (1 << 15, 8, 1, 32), (1 << 40, 8, 1, 32),
    ] {
      let key = Scrypt.derive(
        [1], salt: [2], rounds: rounds, blockSize: blockSize, parallelism: parallelism, count: count)
      #expect(key == nil, "\(rounds) \(blockSize) \(parallelism) \(count)")
    }
  }

  @Test func `bytes are equal when all of them are`() {
    #expect(ConstantTime.isEqual([], []))
    #expect(ConstantTime.isEqual([1, 2, 3], [1, 2, 3]))
    #expect(ConstantTime.isEqual("abc".utf8, Array("abc".utf8)[...]))
    #expect(!ConstantTime.isEqual([1, 2, 3], [1, 2]) && !ConstantTime.isEqual([], [0]))
    for index in 0..<24 {
      var other = [UInt8](repeating: 7, count: 24)
      other[index] ^= 0x80
      #expect(!ConstantTime.isEqual([UInt8](repeating: 7, count: 24), other))
    }
  }
}
