import Foundation
import NIOCore
import TestSupport
import Testing
import WebRTC
import WebRTCServer

@Suite("SRTP and SRTCP, RFC 3711 and RFC 7714")
struct SRTPTests {
  private static let security = OpenSSLSecurity()!

  /// RFC 7714 §16 and §17: session keys.
  private static let gcmKeys = SRTPSessionKeys(
    cipherKey: bytes("000102030405060708090a0b0c0d0e0f"), authenticationKey: [],
    salt: bytes("517569642070726f2071756f"))

  private static func gcmSealer() -> SRTPSealer {
    SRTPSealer(keys: gcmKeys, controlKeys: gcmKeys, profile: .aeadAES128GCM, security: security)!
  }

  private static func gcmOpener() -> SRTPOpener {
    SRTPOpener(keys: gcmKeys, controlKeys: gcmKeys, profile: .aeadAES128GCM, security: security)!
  }

  /// A sealer and an opener of the same direction.
  private static func pair(_ profile: SRTPProfile) -> (SRTPSealer, SRTPOpener) {
    let master = SRTPMasterKey(
      key: Array(1...16), salt: Array((UInt8(101)..<115).prefix(profile.saltLength)))
    return (
      SRTPSealer(master: master, profile: profile, security: security)!,
      SRTPOpener(master: master, profile: profile, security: security)!
    )
  }

  private static func packet(_ sequenceNumber: UInt16, ssrc: UInt32 = 7, payload: [UInt8] = [1, 2, 3]) -> ByteBuffer {
    var packet = ByteBuffer()
    packet.writeMultipleIntegers(UInt8(0x80), UInt8(96), sequenceNumber, UInt32(0), ssrc)
    packet.writeBytes(payload)
    return packet
  }

  private static func report(ssrc: UInt32 = 7) -> ByteBuffer {
    ByteBuffer(bytes: [0x80, 0xC9, 0, 1] + withUnsafeBytes(of: ssrc.bigEndian, Array.init))
  }

  @Test func `AEAD_AES_128_GCM seals and opens the packet of RFC 7714 §16_1`() throws {
    let plain = buffer(
      "8040f17b8041f8d35501a0b247616c6c696120657374206f6d6e69732064697669736120696e207061727465732074726573")
    let sealed = buffer(
      """
      8040f17b8041f8d35501a0b2f24de3a3fb34de6cacba861c9d7e4bcabe633bd50d294e6f42a5f47a51c7d19b36de3adf8833
      899d7f27beb16a9152cf765ee4390cce
      """)
    var sealer = Self.gcmSealer()
    var opener = Self.gcmOpener()
    #expect(try sealer.seal(rtp: plain) == sealed)
    #expect(try opener.open(rtp: sealed) == plain)
  }

  @Test func `AEAD_AES_128_GCM opens the control packet of RFC 7714 §17_1`() throws {
    // Its index is 0x5d4; that of a new sealer is 0.
    let plain = buffer(
      """
      81c8000d4d6172734e5450314e545032525450200000042a0000e9304c756e61deadbeefdeadbeefdeadbeefdeadbeefdeadbeef
      """)
    let sealed = buffer(
      """
      81c8000d4d61727363e94885dcdab67ca727d7662f6b7e997ff5c0f76c06f32dc676a5f1730d6fda4ce09b4686303ded0bb9275b
      c84aa45896cf4d2fc5abf87245d9eade800005d4
      """)
    var opener = Self.gcmOpener()
    #expect(try opener.open(rtcp: sealed) == plain)
    #expect(throws: SRTPError.replayed) { try opener.open(rtcp: sealed) }
  }

  /// The sealed packet is that of `AESGCM` in Python's cryptography 48, with the nonce of RFC 7714 §8.1: salt XOR SSRC 7 and index 0x0102.
  @Test func `AEAD_AES_128_GCM seals a packet of any length`() throws {
    var sealer = Self.gcmSealer()
    let sealed = buffer(
      """
      806001020000000000000007631544922b952d2c46e38e053971305609b2009c2d1a3891f659285cc236b2534151ec55133a0711
      fae53dfea91f5743145005c4257d56a4
      """)
    #expect(try sealer.seal(rtp: Self.packet(0x0102, payload: Array(0..<40))) == sealed)
  }

  /// The sealed packets are those of `modes.CTR` in Python's cryptography 48 and of Python's `hmac`, with the counter of RFC 3711 §4.1.1,
  /// and the rollover counter, or E and the index, in the code.
  @Test func `counter mode seals packets and control packets`() throws {
    let keys = SRTPSessionKeys(
      cipherKey: Array(1...16), authenticationKey: Array(21...40), salt: Array(51...64))
    var sealer = SRTPSealer(keys: keys, controlKeys: keys, profile: .aes128CMSHA1, security: Self.security)!
    let sealed = buffer(
      """
      806001020000000000000007eef24f15b3e749304300839034fb10ab1d265132ffe42e234599f42f812a9e91a38a6ead8658c5b3
      6f36ecc67f3921eae710
      """)
    #expect(try sealer.seal(rtp: Self.packet(0x0102, payload: Array(0..<40))) == sealed)
    // The text of a report is its header alone, so that no byte is encrypted.
    #expect(try sealer.seal(rtcp: Self.report()) == buffer("80c9000100000007 80000000 96ca59c1adafb59d6967"))
  }

  @Test func `the key stream of counter mode is that of RFC 3711 B_2`() throws {
    // The session salt of B.2 with SSRC 0 and index 0; the text is of zeros, so the ciphertext is the key stream.
    let keys = SRTPSessionKeys(
      cipherKey: bytes("2b7e151628aed2a6abf7158809cf4f3c"), authenticationKey: [UInt8](repeating: 0, count: 20),
      salt: bytes("f0f1f2f3f4f5f6f7f8f9fafbfcfd"))
    var sealer = SRTPSealer(keys: keys, controlKeys: keys, profile: .aes128CMSHA1, security: Self.security)!
    let sealed = try sealer.seal(rtp: Self.packet(0, ssrc: 0, payload: [UInt8](repeating: 0, count: 48))).array
    #expect(
      Array(sealed[12..<60])
        == bytes(
          """
          e03ead0935c95e80e166b16dd92b4eb4 d23513162b02d0f72a43a2fe4a5f97ab 41e95b3bb0a2e8dd477901e4fca894c0
          """))
  }

  @Test(arguments: SRTPProfile.allCases)
  func `every packet survives sealing and opening`(profile: SRTPProfile) throws {
    var (sealer, opener) = Self.pair(profile)
    for (offset, length) in [0, 1, 15, 16, 17, 1200].enumerated() {
      let plain = Self.packet(UInt16(offset), payload: [UInt8](repeating: 9, count: length))
      let sealed = try sealer.seal(rtp: plain)
      #expect(sealed.readableBytes == plain.readableBytes + profile.tagLength)
      #expect(try opener.open(rtp: sealed) == plain)
      let control = try sealer.seal(rtcp: Self.report())
      #expect(try opener.open(rtcp: control) == Self.report())
    }
    // CSRC and extension are not encrypted.
    let extended = buffer("9160 0042 00000001 00000007 00000001 bede0001 10aa0000 0102")
    let sealed = try sealer.seal(rtp: extended)
    #expect(sealed.array.prefix(24) == extended.array.prefix(24))
    #expect(try opener.open(rtp: sealed) == extended)
  }

  @Test(arguments: SRTPProfile.allCases)
  func `every changed bit and every prefix is refused, and changes nothing`(profile: SRTPProfile) throws {
    var (sealer, opener) = Self.pair(profile)
    let plain = Self.packet(5)
    let sealed = try sealer.seal(rtp: plain)
    let control = try sealer.seal(rtcp: Self.report())
    for index in 0..<sealed.readableBytes * 8 {
      var changed = sealed
      changed.setInteger(sealed.array[index / 8] ^ 1 << UInt8(index % 8), at: index / 8)
      #expect(throws: SRTPError.self) { try opener.open(rtp: changed) }
    }
    for index in 0..<control.readableBytes * 8 {
      var changed = control
      changed.setInteger(control.array[index / 8] ^ 1 << UInt8(index % 8), at: index / 8)
      #expect(throws: SRTPError.self) { try opener.open(rtcp: changed) }
    }
    for length in 0..<sealed.readableBytes {
      #expect(throws: SRTPError.self) { try opener.open(rtp: ByteBuffer(bytes: sealed.array.prefix(length))) }
    }
    for length in 0..<control.readableBytes {
      #expect(throws: SRTPError.self) { try opener.open(rtcp: ByteBuffer(bytes: control.array.prefix(length))) }
    }
    #expect(try opener.open(rtp: sealed) == plain)
    #expect(try opener.open(rtcp: control) == Self.report())
  }

  @Test(arguments: SRTPProfile.allCases)
  func `a duplicate is refused, and reordered packets over a wrap are opened`(profile: SRTPProfile) throws {
    var (sealer, opener) = Self.pair(profile)
    let numbers = (0..<40).map { UInt16(65_516) &+ $0 }
    let sealed = try numbers.map { try sealer.seal(rtp: Self.packet($0)) }
    for pair in stride(from: 0, to: 40, by: 2) {
      #expect(try opener.open(rtp: sealed[pair + 1]) == Self.packet(numbers[pair + 1]))
      #expect(try opener.open(rtp: sealed[pair]) == Self.packet(numbers[pair]))
      #expect(throws: SRTPError.replayed) { try opener.open(rtp: sealed[pair]) }
    }
  }

  @Test func `the rollover counter advances with each wrap`() throws {
    var (sealer, opener) = Self.pair(.aeadAES128GCM)
    for step in 0..<20 {
      let packet = Self.packet(UInt16(truncatingIfNeeded: step * 20_000))
      #expect(try opener.open(rtp: sealer.seal(rtp: packet)) == packet)
    }
  }

  @Test func `a viewer that misses the packets before a wrap opens none after it, so numbers start low`() throws {
    var (sealer, opener) = Self.pair(.aeadAES128GCM)
    _ = try sealer.seal(rtp: Self.packet(65_535))
    let sealed = try sealer.seal(rtp: Self.packet(0))
    #expect(throws: SRTPError.notAuthentic) { try opener.open(rtp: sealed) }
  }

  @Test(arguments: SRTPProfile.allCases)
  func `an index is never sealed twice`(profile: SRTPProfile) throws {
    var (sealer, _) = Self.pair(profile)
    _ = try sealer.seal(rtp: Self.packet(10))
    for number: UInt16 in [10, 9, 32_778] {
      #expect(throws: SRTPError.indexUsed) { try sealer.seal(rtp: Self.packet(number)) }
    }
    _ = try sealer.seal(rtp: Self.packet(32_777))
    _ = try sealer.seal(rtp: Self.packet(10, ssrc: 8))
  }

  @Test func `sources of a session are bounded on both sides`() throws {
    var (sealer, _) = Self.pair(.aeadAES128GCM)
    let count = UInt32(SRTPSealer.maximumSourceCount)
    for ssrc in 0..<count { _ = try sealer.seal(rtp: Self.packet(1, ssrc: ssrc)) }
    #expect(throws: SRTPError.tooManySources) { try sealer.seal(rtp: Self.packet(1, ssrc: count)) }

    var opener = Self.gcmOpener()
    for ssrc in 0...count {
      var other = Self.gcmSealer()
      let sealed = try other.seal(rtp: Self.packet(1, ssrc: ssrc))
      if ssrc < count {
        #expect(try opener.open(rtp: sealed) == Self.packet(1, ssrc: ssrc))
      } else {
        #expect(throws: SRTPError.tooManySources) { try opener.open(rtp: sealed) }
      }
    }
  }

  @Test func `unencrypted control packets are refused`() throws {
    var opener = Self.gcmOpener()
    let sealed = buffer("80c90001 00000007" + String(repeating: "00", count: 16) + "00000001")
    #expect(throws: SRTPError.notEncrypted) { try opener.open(rtcp: sealed) }
  }
}
