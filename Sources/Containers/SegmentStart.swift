internal import Bitstreams
package import Media
package import NIOCore

/// The first frame of the video in a media segment of HLS, RFC 8216 §3: players start, and change variants, at segments whose first
/// frame is a keyframe.
package enum SegmentStart: Hashable, Sendable {
  /// Decoding can start with the segment.
  case keyframe
  /// The first frame refers to earlier ones.
  case otherFrame
  /// A segment without video, or with video of another codec than H.264 in a transport stream.
  case unknown

  private static let packetLength = 188
  /// Maximum length of a first frame that is examined.
  private static let maximumFrameLength = 4 << 20

  /// Parses a segment of another server: a transport stream (ISO/IEC 13818-1) or a fragment of MP4 (ISO/IEC 14496-12 §8.8).
  ///
  /// - Parameter initialization: The file of `EXT-X-MAP`; nil without one.
  /// - Throws: `.invalid` for another format, and errors of the boxes of MP4.
  package init(parsing segment: ByteBuffer, initialization: ByteBuffer?) throws(ParsingError) {
    if segment.getInteger(at: segment.readerIndex, as: UInt8.self) == 0x47 {
      self = Self.ofTransportStream(segment)
    } else {
      guard let initialization else { throw ParsingError(.invalid, field: "segment") }
      self = try Self.ofFragment(segment, initialization: initialization)
    }
  }

  private static func ofFragment(
    _ segment: ByteBuffer, initialization: ByteBuffer
  ) throws(ParsingError) -> SegmentStart {
    guard let movie = try MP4Box.boxes(in: initialization).first(where: { $0.type == "moov" }) else {
      throw ParsingError(.missing, field: "moov")
    }
    var video: UInt32?
    var extends: [TrackExtends] = []
    for box in try movie.children() {
      switch box.type {
      case "trak": if video == nil { video = try self.videoTrackID(box) }
      case "mvex":
        for child in try box.children() where child.type == "trex" { extends.append(try TrackExtends(parsing: child)) }
      default: break
      }
    }
    guard let video, let box = try MP4Box.boxes(in: segment).first(where: { $0.type == "moof" }) else {
      return .unknown
    }
    let fragment = try MovieFragment(parsing: box, extends: extends)
    guard let sample = fragment.tracks.first(where: { $0.trackID == video })?.samples.first else { return .unknown }
    return sample.flags.isSync ? .keyframe : .otherFrame
  }

  /// The `track_ID` of a `trak` box (§8.3.2) whose handler (§8.4.3) is `vide`; nil for other tracks.
  private static func videoTrackID(_ track: MP4Box) throws(ParsingError) -> UInt32? {
    var handler = try track.child("mdia").child("hdlr").full().content
    guard handler.readInteger(as: UInt32.self) != nil, handler.readString(length: 4) == "vide" else { return nil }
    var header = try track.child("tkhd").full()
    // Creation and modification time come first, of 64 bits in version 1.
    guard header.content.readSlice(length: header.version == 1 ? 16 : 8) != nil else {
      throw ParsingError(.truncated, field: "tkhd", offset: track.offset)
    }
    return header.content.readInteger(as: UInt32.self)
  }

  private static func ofTransportStream(_ segment: ByteBuffer) -> SegmentStart {
    var rest = segment
    var identifier: UInt16?
    var stream = ByteBuffer()
    while let packet = rest.readSlice(length: self.packetLength), let (id, startsUnit, payload) = self.payload(packet) {
      if let identifier {
        guard id == identifier else { continue }
        if startsUnit || stream.readableBytes > self.maximumFrameLength { break }
        stream.writeImmutableBuffer(payload)
      } else if startsUnit, let elementary = self.videoPayload(payload) {
        identifier = id
        stream = elementary
      }
    }
    let types = AnnexBNALUnits(stream).map { unit in
      H264NALUnitType(rawValue: unit.getInteger(at: unit.readerIndex, as: UInt8.self) ?? 0)
    }
    if types.contains(.idrSlice) { return .keyframe }
    // The types of HEVC are even in these bits.
    guard types.contains(.nonIDRSlice) else { return .unknown }
    return H264AccessUnit(parsingAnnexB: stream).randomAccess == nil ? .otherFrame : .keyframe
  }

  /// PID, `payload_unit_start_indicator` and payload of a packet, ISO/IEC 13818-1 §2.4.3.2; nil where the packet is none.
  private static func payload(_ packet: ByteBuffer) -> (id: UInt16, startsUnit: Bool, payload: ByteBuffer)? {
    var rest = packet
    guard let (sync, id, flags) = rest.readMultipleIntegers(as: (UInt8, UInt16, UInt8).self), sync == 0x47 else {
      return nil
    }
    var payload = rest
    if flags & 0b0010_0000 != 0 {
      guard let length = rest.readInteger(as: UInt8.self), rest.readSlice(length: Int(length)) != nil else {
        return nil
      }
      payload = rest
    }
    if flags & 0b0001_0000 == 0 { payload.clear() }
    return (id & 0x1FFF, id & 0x4000 != 0, payload)
  }

  /// The payload of a PES packet of video behind its header, §2.4.3.6; nil for other packets.
  private static func videoPayload(_ packet: ByteBuffer) -> ByteBuffer? {
    var rest = packet
    guard let (prefix, _, _, length) = rest.readMultipleIntegers(as: (UInt32, UInt16, UInt16, UInt8).self),
      prefix & 0xFFFF_FFF0 == 0x0000_01E0, rest.readSlice(length: Int(length)) != nil
    else { return nil }
    return rest
  }
}
