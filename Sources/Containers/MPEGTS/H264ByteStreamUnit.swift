internal import Bitstreams
internal import Media
internal import NIOCore

/// An access unit as a transport stream carries it, ISO/IEC 13818-1 §2.14.1: a byte stream (ITU-T H.264 Annex B) that
/// begins with an access unit delimiter; before IDR pictures the parameter sets follow.
struct H264ByteStreamUnit {
  /// The bytes of it all.
  let length: Int
  /// Delimiter and parameter sets, each behind a start code.
  private var head: [UInt8]
  private let nalUnits: [ByteBuffer]

  /// Four bytes, as long as the length that it stands for: parameter sets and the first NAL unit must have the first
  /// zero, the others may.
  private static let startCode: [UInt8] = [0x00, 0x00, 0x00, 0x01]
  /// An access unit delimiter: primary_pic_type 7, any slices.
  private static let delimiter: [UInt8] = [0x09, 0xF0]

  /// The unit of a sample; nil when its lengths do not fit it or it holds no picture.
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

  /// Copies the unit into packets.
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
