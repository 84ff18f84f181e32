internal import Media
internal import RTP

/// Writes the RTP headers of one track with the extensions that were agreed on, RFC 3550 §5.1 and RFC 8285 §4.2.
struct WebRTCHeaderWriter {
  private let transportWideID: UInt8?
  private let sendTimeID: UInt8?
  private let midID: UInt8?
  private let playoutDelayID: UInt8?
  private let mid: [UInt8]
  /// Whether the client has reported on the track, so that it knows its mid and playout delay.
  var isAcknowledged = false

  /// The client may show frames at once, and wait for late ones at most 100 ms.
  private static let playoutDelay = RTPPlayoutDelay(milliseconds: 0...100).data
  /// Maximum length of a header, in bytes: with four extensions and their largest data.
  static let maximumLength = 12 + 4 + 17 + 4 + 3 + 4
  /// Offset of the extensions, behind the fixed header and their own.
  private static let extensionsOffset = 16

  init(_ track: WebRTCAnswer.Track) {
    let ids = track.extensionIDs
    self.transportWideID = ids[WebRTCAnswer.ExtensionURI.transportWideCC]
    self.sendTimeID = ids[WebRTCAnswer.ExtensionURI.absoluteSendTime]
    self.playoutDelayID = ids[WebRTCAnswer.ExtensionURI.playoutDelay]
    self.mid = Array((track.mid ?? "").utf8)
    // One-byte headers have at most 16 bytes of data; clients know the SSRC from the answer as well.
    self.midID = (1...16).contains(self.mid.count) ? ids[WebRTCAnswer.ExtensionURI.mid] : nil
  }

  /// Whether packets have transport-wide numbers.
  var hasTransportWideNumbers: Bool { self.transportWideID != nil }

  /// Writes a header.
  ///
  /// - Parameters:
  ///   - transportWide: The transport-wide number; nil without.
  ///   - isKeyframe: Whether the packet is of a keyframe, which carries the playout delay.
  ///   - output: At least ``maximumLength`` bytes.
  /// - Returns: Length of the header in bytes.
  func write(
    _ header: RTPHeader, transportWide: RTPTransportWideSequenceNumber?, isKeyframe: Bool, at now: MediaTime,
    into output: UnsafeMutableRawBufferPointer
  ) -> Int {
    precondition(output.count >= Self.maximumLength)
    var length = Self.extensionsOffset
    func append(_ id: UInt8, _ data: [UInt8]) {
      output[length] = id << 4 | UInt8(data.count - 1)
      for (index, byte) in data.enumerated() { output[length + 1 + index] = byte }
      length += 1 + data.count
    }
    // Each packet has this one: no array of its data is made.
    if let id = self.transportWideID, let transportWide {
      output[length] = id << 4 | 1
      output.storeBytes(of: transportWide.rawValue.bigEndian, toByteOffset: length + 1, as: UInt16.self)
      length += 3
    }
    if let id = self.sendTimeID { append(id, RTPAbsoluteSendTime(nanoseconds: now.nanoseconds).data) }
    if !self.isAcknowledged {
      if let id = self.midID { append(id, self.mid) }
      if let id = self.playoutDelayID, isKeyframe { append(id, Self.playoutDelay) }
    }
    while length % 4 != 0 {
      output[length] = 0
      length += 1
    }
    let words = (length - Self.extensionsOffset) / 4
    output[0] = words > 0 ? 0x90 : 0x80
    output[1] = (header.marker ? 0x80 : 0) | header.payloadType
    output.storeBytes(of: header.sequenceNumber.bigEndian, toByteOffset: 2, as: UInt16.self)
    output.storeBytes(of: header.timestamp.bigEndian, toByteOffset: 4, as: UInt32.self)
    output.storeBytes(of: header.ssrc.bigEndian, toByteOffset: 8, as: UInt32.self)
    guard words > 0 else { return RTPHeader.fixedLength }
    output.storeBytes(of: UInt16(0xBEDE).bigEndian, toByteOffset: 12, as: UInt16.self)
    output.storeBytes(of: UInt16(words).bigEndian, toByteOffset: 14, as: UInt16.self)
    return length
  }
}
