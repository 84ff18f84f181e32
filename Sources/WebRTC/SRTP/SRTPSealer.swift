package import NIOCore

/// Seals RTP and RTCP packets of one direction of a session: SRTP and SRTCP, RFC 3711 §3.3 and §3.4, RFC 7714 §8 and §9.
///
/// ```
/// SRTP          header | ciphertext | tag
/// SRTCP, GCM    header of 8 bytes | ciphertext | tag | E, index
/// SRTCP, HMAC   header of 8 bytes | ciphertext | E, index | tag
/// ```
///
/// Sequence numbers of a source must advance: an index is never sealed twice. A retransmission is either the sealed bytes
/// again, or has a source of its own (RFC 4588).
package struct SRTPSealer {
  private let ciphers: SRTPCiphers
  /// The last index that was sealed, of each source: so few that a search is faster than a dictionary.
  private var lastIndexes: [(ssrc: UInt32, index: UInt64)] = []
  private var nextControlIndex: UInt32 = 0

  /// Maximum number of sources that a session sends: audio, video and their retransmissions, with some to spare.
  package static let maximumSourceCount = 16

  /// Creates a sealer; nil when a cipher cannot be made.
  package init?(master: SRTPMasterKey, profile: SRTPProfile, security: some DatagramSecurity) {
    self.init(
      keys: SRTPSessionKeys(master: master, profile: profile, use: .srtp),
      controlKeys: SRTPSessionKeys(master: master, profile: profile, use: .srtcp), profile: profile, security: security)
  }

  /// Creates a sealer with known session keys; nil when a cipher cannot be made.
  package init?(
    keys: SRTPSessionKeys, controlKeys: SRTPSessionKeys, profile: SRTPProfile, security: some DatagramSecurity
  ) {
    guard
      let ciphers = SRTPCiphers(
        keys: keys, controlKeys: controlKeys, profile: profile, security: security, seals: true)
    else { return nil }
    self.ciphers = ciphers
  }

  /// Length that sealing adds to an RTP packet, in bytes.
  @inline(__always)
  package var overhead: Int { self.ciphers.profile.tagLength }

  /// Seals an RTP packet from its header and its payload, which stay as they are.
  ///
  /// - Parameters:
  ///   - header: With CSRCs and extension; 12 bytes at least.
  ///   - payload: Everything behind the header, with padding.
  ///   - output: `header.count + payload.count + overhead` bytes.
  package mutating func seal(
    header: UnsafeRawBufferPointer, payload: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
  ) throws(SRTPError) {
    guard header.count >= 12, output.count == header.count + payload.count + self.overhead else { throw .malformed }
    let sequenceNumber = UInt16(bigEndian: header.loadUnaligned(fromByteOffset: 2, as: UInt16.self))
    let ssrc = UInt32(bigEndian: header.loadUnaligned(fromByteOffset: 8, as: UInt32.self))
    let index = try self.nextIndex(of: ssrc, sequenceNumber)
    let end = header.count + payload.count
    output.copyMemory(from: header)
    let isSealed = self.ciphers.rtp.seal(
      payload, nonce: self.ciphers.nonce(ssrc: ssrc, index: index), header: header,
      trailer: self.ciphers.rolloverCounter(of: index),
      into: UnsafeMutableRawBufferPointer(rebasing: output[header.count..<end]),
      tag: UnsafeMutableRawBufferPointer(rebasing: output[end...]))
    guard isSealed else { throw .cipher }
  }

  /// Seals a serialized RTP packet.
  package mutating func seal(rtp packet: ByteBuffer) throws(SRTPError) -> ByteBuffer {
    guard let headerLength = RTPLayout.headerLength(of: packet.readableBytesView) else { throw .malformed }
    let length = packet.readableBytes + self.overhead
    var output = ByteBufferAllocator().buffer(capacity: length)
    var failure: SRTPError?
    output.writeWithUnsafeMutableBytes(minimumWritableBytes: length) { output in
      packet.withUnsafeReadableBytes { bytes in
        do throws(SRTPError) {
          try self.seal(
            header: UnsafeRawBufferPointer(rebasing: bytes[..<headerLength]),
            payload: UnsafeRawBufferPointer(rebasing: bytes[headerLength...]),
            into: UnsafeMutableRawBufferPointer(rebasing: output[..<length]))
          return length
        } catch {
          failure = error
          return 0
        }
      }
    }
    if let failure { throw failure }
    return output
  }

  /// Seals a serialized RTCP compound packet.
  package mutating func seal(rtcp packet: ByteBuffer) throws(SRTPError) -> ByteBuffer {
    guard let ssrc = packet.getInteger(at: packet.readerIndex + 4, as: UInt32.self),
      packet.getInteger(at: packet.readerIndex, as: UInt8.self).map({ $0 >> 6 }) == 2
    else { throw .malformed }
    guard self.nextControlIndex <= SRTCPTrailer.maximumIndex else { throw .indexUsed }
    let trailer = SRTCPTrailer.encrypted | self.nextControlIndex
    let nonce = self.ciphers.controlNonce(ssrc: ssrc, index: UInt64(self.nextControlIndex))
    self.nextControlIndex += 1
    let end = packet.readableBytes
    let length = end + self.overhead + SRTCPTrailer.length
    let layout = self.ciphers.controlLayout(end: end)
    var output = ByteBufferAllocator().buffer(capacity: length)
    var isSealed = false
    output.writeWithUnsafeMutableBytes(minimumWritableBytes: length) { output in
      packet.withUnsafeReadableBytes { bytes in
        output.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<SRTCPTrailer.headerLength]))
        output.storeBytes(of: trailer.bigEndian, toByteOffset: layout.trailer, as: UInt32.self)
        isSealed = self.ciphers.rtcp.seal(
          UnsafeRawBufferPointer(rebasing: bytes[SRTCPTrailer.headerLength...]), nonce: nonce,
          header: UnsafeRawBufferPointer(rebasing: bytes[..<SRTCPTrailer.headerLength]), trailer: trailer,
          into: UnsafeMutableRawBufferPointer(rebasing: output[SRTCPTrailer.headerLength..<end]),
          tag: UnsafeMutableRawBufferPointer(rebasing: output[layout.tag..<layout.tag + self.overhead]))
        return length
      }
    }
    guard isSealed else { throw .cipher }
    return output
  }

  /// The index of the next packet of a source: it continues behind the last one.
  private mutating func nextIndex(of ssrc: UInt32, _ sequenceNumber: UInt16) throws(SRTPError) -> UInt64 {
    guard let source = self.lastIndexes.firstIndex(where: { $0.ssrc == ssrc }) else {
      guard self.lastIndexes.count < Self.maximumSourceCount else { throw .tooManySources }
      self.lastIndexes.append((ssrc, UInt64(sequenceNumber)))
      return UInt64(sequenceNumber)
    }
    let last = self.lastIndexes[source].index
    let advance = sequenceNumber &- UInt16(truncatingIfNeeded: last)
    // A number behind the last one would be sealed with the next rollover counter, which the receiver does not expect.
    guard advance > 0, advance < 0x8000, last + UInt64(advance) < 1 << 48 else { throw .indexUsed }
    self.lastIndexes[source].index = last + UInt64(advance)
    return last + UInt64(advance)
  }
}

/// E and index at the end of an SRTCP packet, RFC 3711 §3.4.
enum SRTCPTrailer {
  static let length = 4
  /// Length of the header and SSRC, in bytes, which are not encrypted.
  static let headerLength = 8
  static let encrypted: UInt32 = 0x8000_0000
  static let maximumIndex: UInt32 = 0x7FFF_FFFF
}

/// Positions in an RTP packet, RFC 3550 §5.1.
enum RTPLayout {
  /// Length of the header with CSRCs and extension; nil when the packet is shorter, or not RTP.
  static func headerLength(of packet: some RandomAccessCollection<UInt8>) -> Int? {
    func byte(_ position: Int) -> Int { Int(packet[packet.index(packet.startIndex, offsetBy: position)]) }
    guard packet.count >= 12, byte(0) >> 6 == 2 else { return nil }
    var length = 12 + 4 * (byte(0) & 0b1111)
    if byte(0) & 0b1_0000 != 0 {
      guard packet.count >= length + 4 else { return nil }
      length += 4 + 4 * (byte(length + 2) << 8 | byte(length + 3))
    }
    return length <= packet.count ? length : nil
  }
}

/// Reasons why a packet is neither sealed nor opened. Every case concerns one packet, which is dropped and counted.
package enum SRTPError: Error, Hashable, Sendable, CaseIterable {
  /// Shorter than its parts, or not RTP or RTCP of version 2.
  case malformed
  /// Not made with the keys of this session, or changed on the way.
  case notAuthentic
  /// Received before, or older than the replay window.
  case replayed
  /// SRTCP without encryption (E is 0), which the profiles of WebRTC do not have.
  case notEncrypted
  /// An index would be sealed twice, which reveals the key stream, or comes after the last one, RFC 3711 §9.2.
  case indexUsed
  /// More synchronization sources than a session has.
  case tooManySources
  /// There are no keys yet, no address, or no session any more.
  case notConnected
  /// The cipher failed.
  case cipher
}
