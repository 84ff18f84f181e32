import NIOCore
import TestSupport
import Testing
import WebRTC

@Suite("SRTP key derivation, RFC 3711 §4.3")
struct SRTPSessionKeysTests {
  /// RFC 3711 appendix B.3.
  private static let master = SRTPMasterKey(
    key: bytes("e1f97a0d3e018be0d64fa32c06de4139"), salt: bytes("0ec675ad498afeebb6960b3aabe6"))

  @Test func `the session keys are those of appendix B_3`() {
    let keys = SRTPSessionKeys(master: Self.master, profile: .aes128CMSHA1, use: .srtp)
    #expect(keys.cipherKey == bytes("c61e7a93744f39ee10734afe3ff7a087"))
    #expect(keys.salt == bytes("30cbbc08863d8c85d49db34a9ae1"))
    // The first 20 of the 94 bytes that the appendix derives.
    #expect(keys.authenticationKey == bytes("cebe321f6ff7716b6fd4ab49af256a156d38baa4"))
  }

  @Test func `keys of SRTCP differ from those of SRTP`() {
    let keys = SRTPSessionKeys(master: Self.master, profile: .aes128CMSHA1, use: .srtp)
    let control = SRTPSessionKeys(master: Self.master, profile: .aes128CMSHA1, use: .srtcp)
    #expect(control.cipherKey != keys.cipherKey && control.salt != keys.salt)
    #expect(control.authenticationKey != keys.authenticationKey && control.authenticationKey.count == 20)
  }

  @Test func `the salt of GCM is extended by zeros, RFC 7714 §11`() {
    let short = SRTPMasterKey(key: Array(1...16), salt: Array(1...12))
    let long = SRTPMasterKey(key: Array(1...16), salt: Array(1...12) + [0, 0])
    let keys = SRTPSessionKeys(master: short, profile: .aeadAES128GCM, use: .srtcp)
    #expect(keys.cipherKey == SRTPSessionKeys(master: long, profile: .aes128CMSHA1, use: .srtcp).cipherKey)
    #expect(keys.salt.count == 12 && keys.authenticationKey.isEmpty)
  }

  @Test(arguments: SRTPProfile.allCases)
  func `what DTLS exports is client key, server key, client salt, server salt`(profile: SRTPProfile) {
    let exported = (0..<profile.exportedLength).map { UInt8($0) }
    let pair = SRTPMasterKey.pair(exported: exported, profile: profile)
    let salts = 32..<UInt8(32 + profile.saltLength)
    #expect(pair?.client == SRTPMasterKey(key: Array(0..<16), salt: Array(salts)))
    #expect(
      pair?.server
        == SRTPMasterKey(key: Array(16..<32), salt: Array(salts.upperBound..<UInt8(profile.exportedLength))))
    #expect(SRTPMasterKey.pair(exported: Array(exported.dropLast()), profile: profile) == nil)
  }

  @Test func `keys are not shown`() {
    var text = ""
    dump(Self.master, to: &text)
    dump(SRTPSessionKeys(master: Self.master, profile: .aes128CMSHA1, use: .srtp), to: &text)
    #expect(!text.contains("225") && !text.contains("198"))
  }
}
