import CSRTP
import NIOCore
import TestSupport
import Testing
import WebRTC
import WebRTCServer

/// One direction of a session of libsrtp 2, which shares nothing with ours but the specification.
private final class LibrarySession {
  private let session: OpaquePointer

  init(_ profile: SRTPProfile, key: [UInt8], salt: [UInt8], seals: Bool) throws {
    let bytes = key + salt
    self.session = try #require(
      csrtp_create(Int32(profile.rawValue), bytes, bytes.count, seals ? 1 : 0),
      "libsrtp 2 is needed: run scripts/setup --tests")
  }

  deinit { csrtp_free(self.session) }

  /// Seals or opens a packet; nil when libsrtp refuses it.
  func process(_ packet: ByteBuffer, isControl: Bool) -> ByteBuffer? {
    var bytes = packet.array + [UInt8](repeating: 0, count: 64)
    var length = Int32(packet.readableBytes)
    guard csrtp_process(self.session, isControl ? 1 : 0, &bytes, &length) == 0 else { return nil }
    return ByteBuffer(bytes: bytes.prefix(Int(length)))
  }
}

@Suite("SRTP and SRTCP, with libsrtp 2 on the other side")
struct SRTPLibraryTests {
  private static let security = OpenSSLSecurity()!

  private let key: [UInt8] = (0..<16).map { $0 &* 37 &+ 11 }

  private func salt(_ profile: SRTPProfile) -> [UInt8] { (0..<UInt8(profile.saltLength)).map { $0 &* 73 &+ 5 } }

  /// RTP packets over two wraps of the sequence number, of many lengths: with CSRC, with an extension, with both, without.
  private static func packets() -> [ByteBuffer] {
    (0..<500).map { index in
      let hasSource = index % 3 == 0
      let hasExtension = index % 5 == 0
      var packet = ByteBuffer()
      packet.writeMultipleIntegers(
        UInt8(0x80) | (hasExtension ? 0x10 : 0) | (hasSource ? 1 : 0), UInt8(96 + index % 2 * 128),
        UInt16(truncatingIfNeeded: 500 + index * 300), UInt32(index) &* 3000, UInt32(index % 2 == 0 ? 7 : 0xFFFF_FFF0))
      if hasSource { packet.writeInteger(UInt32(42)) }
      if hasExtension { packet.writeMultipleIntegers(UInt16(0xBEDE), UInt16(1), UInt32(0x10AA_0000)) }
      packet.writeBytes((0..<index * 7 % 1200).map { UInt8(truncatingIfNeeded: $0 &* index) })
      return packet
    }
  }

  /// RTCP packets: receiver reports of several sources.
  private static func controlPackets() -> [ByteBuffer] {
    (0..<100).map { index in
      var packet = ByteBuffer()
      packet.writeMultipleIntegers(UInt8(0x81), UInt8(201), UInt16(7), UInt32(index % 3))
      packet.writeBytes((0..<24).map { UInt8(truncatingIfNeeded: $0 * index) })
      return packet
    }
  }

  @Test(arguments: SRTPProfile.allCases)
  func `libsrtp opens what we seal, and seals the same bytes`(profile: SRTPProfile) throws {
    let master = SRTPMasterKey(key: self.key, salt: self.salt(profile))
    var sealer = try #require(SRTPSealer(master: master, profile: profile, security: Self.security))
    let opener = try LibrarySession(profile, key: self.key, salt: self.salt(profile), seals: false)
    let other = try LibrarySession(profile, key: self.key, salt: self.salt(profile), seals: true)
    for packet in Self.packets() {
      let sealed = try sealer.seal(rtp: packet)
      #expect(other.process(packet, isControl: false) == sealed)
      #expect(opener.process(sealed, isControl: false) == packet)
      #expect(opener.process(sealed, isControl: false) == nil)
    }
    for packet in Self.controlPackets() {
      let sealed = try sealer.seal(rtcp: packet)
      #expect(opener.process(sealed, isControl: true) == packet)
    }
  }

  @Test(arguments: SRTPProfile.allCases)
  func `we open what libsrtp seals`(profile: SRTPProfile) throws {
    let master = SRTPMasterKey(key: self.key, salt: self.salt(profile))
    var opener = try #require(SRTPOpener(master: master, profile: profile, security: Self.security))
    let sealer = try LibrarySession(profile, key: self.key, salt: self.salt(profile), seals: true)
    for packet in Self.packets() {
      let sealed = try #require(sealer.process(packet, isControl: false))
      #expect(try opener.open(rtp: sealed) == packet)
      #expect(throws: SRTPError.replayed) { try opener.open(rtp: sealed) }
    }
    for packet in Self.controlPackets() {
      let sealed = try #require(sealer.process(packet, isControl: true))
      #expect(try opener.open(rtcp: sealed) == packet)
    }
  }
}
