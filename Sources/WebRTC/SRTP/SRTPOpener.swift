package import NIOCore

/// Opens SRTP and SRTCP packets of one direction of a session, RFC 3711 §3.3 and §3.4.
///
/// A packet changes the state only after its tag was checked. The layouts are those of ``SRTPSealer``.
package struct SRTPOpener {
  private struct Source {
    /// Window over the 48-bit indexes of SRTP.
    var packets = ReplayWindow()
    /// Window over the 31-bit indexes of SRTCP.
    var control = ReplayWindow()
  }

  private let ciphers: SRTPCiphers
  private var sources: [UInt32: Source] = [:]

  /// Maximum number of sources that a peer sends.
  package static let maximumSourceCount = 16

  /// Creates an opener; nil when a cipher cannot be made.
  package init?(master: SRTPMasterKey, profile: SRTPProfile, security: some DatagramSecurity) {
    self.init(
      keys: SRTPSessionKeys(master: master, profile: profile, use: .srtp),
      controlKeys: SRTPSessionKeys(master: master, profile: profile, use: .srtcp), profile: profile, security: security)
  }

  /// Creates an opener with known session keys; nil when a cipher cannot be made.
  package init?(
    keys: SRTPSessionKeys, controlKeys: SRTPSessionKeys, profile: SRTPProfile, security: some DatagramSecurity
  ) {
    guard
      let ciphers = SRTPCiphers(
        keys: keys, controlKeys: controlKeys, profile: profile, security: security, seals: false)
    else { return nil }
    self.ciphers = ciphers
  }

  /// Opens an SRTP packet.
  ///
  /// - Returns: The RTP packet, serialized.
  package mutating func open(rtp datagram: ByteBuffer) throws(SRTPError) -> ByteBuffer {
    guard let headerLength = RTPLayout.headerLength(of: datagram.readableBytesView),
      let (sequenceNumber, _, ssrc) = datagram.getMultipleIntegers(
        at: datagram.readerIndex + 2, as: (UInt16, UInt32, UInt32).self),
      datagram.readableBytes >= headerLength + self.ciphers.profile.tagLength
    else { throw .malformed }
    let source = self.sources[ssrc] ?? Source()
    let index = try Self.index(of: sequenceNumber, after: source.packets.highest)
    guard source.packets.accepts(index) else { throw .replayed }
    let end = datagram.readableBytes - self.ciphers.profile.tagLength
    let packet = try Self.open(
      datagram, with: self.ciphers.rtp, nonce: self.ciphers.nonce(ssrc: ssrc, index: index), headerLength: headerLength,
      end: end, tagStart: end, tagLength: self.ciphers.profile.tagLength,
      trailer: self.ciphers.rolloverCounter(of: index))
    try self.update(ssrc) { $0.packets.insert(index) }
    return packet
  }

  /// Opens an SRTCP packet.
  ///
  /// - Returns: The RTCP compound packet, serialized.
  package mutating func open(rtcp datagram: ByteBuffer) throws(SRTPError) -> ByteBuffer {
    let start = datagram.readerIndex
    let end = datagram.readableBytes - self.ciphers.profile.tagLength - SRTCPTrailer.length
    let layout = self.ciphers.controlLayout(end: end)
    guard end >= SRTCPTrailer.headerLength, let ssrc = datagram.getInteger(at: start + 4, as: UInt32.self),
      datagram.getInteger(at: start, as: UInt8.self).map({ $0 >> 6 }) == 2,
      let trailer = datagram.getInteger(at: start + layout.trailer, as: UInt32.self)
    else { throw .malformed }
    guard trailer & SRTCPTrailer.encrypted != 0 else { throw .notEncrypted }
    let index = UInt64(trailer & SRTCPTrailer.maximumIndex)
    guard self.sources[ssrc]?.control.accepts(index) ?? true else { throw .replayed }
    let packet = try Self.open(
      datagram, with: self.ciphers.rtcp, nonce: self.ciphers.controlNonce(ssrc: ssrc, index: index),
      headerLength: SRTCPTrailer.headerLength, end: end, tagStart: layout.tag,
      tagLength: self.ciphers.profile.tagLength, trailer: trailer)
    try self.update(ssrc) { $0.control.insert(index) }
    return packet
  }

  /// Changes the state of a source; only authentic packets come this far.
  private mutating func update(_ ssrc: UInt32, _ change: (inout Source) -> Void) throws(SRTPError) {
    guard self.sources[ssrc] != nil || self.sources.count < Self.maximumSourceCount else { throw .tooManySources }
    change(&self.sources[ssrc, default: Source()])
  }

  /// Estimates the index of a packet from the highest index so far, RFC 3711 §3.3.1: the one that is nearest to it.
  static func index(of sequenceNumber: UInt16, after highest: UInt64?) throws(SRTPError) -> UInt64 {
    guard let highest else { return UInt64(sequenceNumber) }
    let distance = Int64(Int16(bitPattern: sequenceNumber &- UInt16(truncatingIfNeeded: highest)))
    let index = Int64(highest) + distance
    // Before the first packet of all, or after the last one.
    guard index >= 0, index < 1 << 48 else { throw .replayed }
    return UInt64(index)
  }

  private static func open(
    _ datagram: ByteBuffer, with cipher: any SRTPCipher, nonce: SIMD16<UInt8>, headerLength: Int, end: Int,
    tagStart: Int, tagLength: Int, trailer: UInt32?
  ) throws(SRTPError) -> ByteBuffer {
    var packet = ByteBufferAllocator().buffer(capacity: end)
    var isAuthentic = false
    packet.writeWithUnsafeMutableBytes(minimumWritableBytes: end) { output in
      datagram.withUnsafeReadableBytes { bytes in
        let header = UnsafeRawBufferPointer(rebasing: bytes[..<headerLength])
        output.copyMemory(from: header)
        isAuthentic = cipher.open(
          UnsafeRawBufferPointer(rebasing: bytes[headerLength..<end]), nonce: nonce, header: header, trailer: trailer,
          into: UnsafeMutableRawBufferPointer(rebasing: output[headerLength..<end]),
          tag: UnsafeRawBufferPointer(rebasing: bytes[tagStart..<tagStart + tagLength]))
        return end
      }
    }
    guard isAuthentic else { throw .notAuthentic }
    return packet
  }
}
