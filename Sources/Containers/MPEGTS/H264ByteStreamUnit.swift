internal import Bitstreams
internal import Media
internal import NIOCore

/// An access unit in a transport stream, ISO/IEC 13818-1 §2.14.1: a byte stream (ITU-T H.264 Annex B) of an access unit
/// delimiter, the parameter sets for a keyframe, and the NAL units of the sample.
struct H264ByteStreamUnit {
  /// Total number of bytes.
  let length: Int
  /// Delimiter and parameter sets, each with a start code.
  private var head: [UInt8]
  private let nalUnits: [ByteBuffer]

  /// Start code of four bytes, Annex B.1.2: zero_byte is mandatory for parameter sets and the first NAL unit, optional for
  /// others.
  private static let startCode: [UInt8] = [0x00, 0x00, 0x00, 0x01]
  /// Access unit delimiter with primary_pic_type 7: any slice types.
  private static let delimiter: [UInt8] = [0x09, 0xF0]

  /// Creates the unit of a sample; nil when a NAL unit length is invalid or there are no slices.
  init?(_ sample: EncodedSample, description: H264Description) {
    guard let all = try? AVCCNALUnits(parsing: sample.payload) else { return nil }
    self.nalUnits = all.filter {
      H264NALUnitType(rawValue: $0.getInteger(at: $0.readerIndex) ?? 0).isSampleData
    }
    guard !self.nalUnits.isEmpty else { return nil }
    self.head = Self.startCode + Self.delimiter
    if sample.isKeyframe {
      for set in [description.sequenceParameterSet, description.pictureParameterSet] where !set.isEmpty {
        self.head += Self.startCode
        self.head += set
      }
    }
    self.length = self.nalUnits.reduce(self.head.count) { $0 + Self.startCode.count + $1.readableBytes }
  }

  /// Copies the unit into transport packets.
  func write(to writer: inout TransportPacketWriter) {
    self.head.withUnsafeBytes { head in
      writer.append(head)
      let startCode = UnsafeRawBufferPointer(rebasing: head[..<Self.startCode.count])
      for nalUnit in self.nalUnits {
        writer.append(startCode)
        writer.append(nalUnit)
      }
    }
  }
}
