package import Media
package import NIOCore

/// The content of an H.264 payload, RFC 6184 §5.2, table 1.
package enum H264PacketContent {
  /// Complete NAL units: one (types 1 to 23), or several of the same time (STAP-A).
  case nalUnits([ByteBuffer])
  /// A fragment of a NAL unit (FU-A), with the header byte of the complete NAL unit.
  case fragment(header: UInt8, isStart: Bool, isEnd: Bool, bytes: ByteBuffer)

  /// Parses the payload of a packet.
  ///
  /// - Throws: `.truncated`, `.invalid`; `.unsupported` for the types of interleaved mode.
  package init(parsing payload: ByteBuffer) throws(ParsingError) {
    var rest = payload
    guard let header = rest.readInteger(as: UInt8.self) else {
      throw ParsingError(.truncated, field: "NAL unit header")
    }
    switch header & H264PayloadHeader.typeMask {
    case 1...23:
      self = .nalUnits([payload])
    case H264PayloadHeader.singleTimeAggregationPacketA:
      var nalUnits: [ByteBuffer] = []
      while rest.readableBytes > 0 {
        let offset = rest.readerIndex - payload.readerIndex
        guard let nalUnit = rest.readLengthPrefixedSlice(as: UInt16.self) else {
          throw ParsingError(.truncated, field: "NALU size", offset: offset)
        }
        nalUnits.append(nalUnit)
      }
      self = .nalUnits(nalUnits)
    case H264PayloadHeader.fragmentationUnitA:
      guard let fragmentHeader = rest.readInteger(as: UInt8.self) else {
        throw ParsingError(.truncated, field: "FU header", offset: 1)
      }
      let type = fragmentHeader & H264PayloadHeader.typeMask
      guard (1...23).contains(type) else { throw ParsingError(.invalid, field: "FU header", offset: 1) }
      self = .fragment(
        header: header & H264PayloadHeader.nalRefIDCMask | type,
        isStart: fragmentHeader & H264PayloadHeader.fragmentStart != 0,
        isEnd: fragmentHeader & H264PayloadHeader.fragmentEnd != 0,
        bytes: rest)
    case 25...27, 29:
      throw ParsingError(.unsupported, field: "NAL unit type")
    default:
      throw ParsingError(.invalid, field: "NAL unit type")
    }
  }
}
