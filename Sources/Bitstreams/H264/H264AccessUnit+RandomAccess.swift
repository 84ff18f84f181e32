internal import Media
package import NIOCore

/// Random access points, ITU-T H.264 §3.69 and §D.2.8: access units other than IDR pictures at which decoding can start.
package enum H264RandomAccess: Hashable, Sendable {
  /// Supplemental enhancement information with a recovery point: frames are correct after `recovery_frame_cnt` more.
  case recoveryPoint
  /// Slices of types I and SI alone: the frame is correct, those after it where they refer to none before it.
  case intra
}

extension H264AccessUnit {
  /// The point at which decoding can start without an IDR picture; nil for access units that refer to others, and without slices.
  package var randomAccess: H264RandomAccess? {
    var rest = self.payload
    var isIntra: Bool?
    while let length = rest.readInteger(as: UInt32.self), var nalUnit = rest.readSlice(length: Int(length)) {
      guard let header = nalUnit.readInteger(as: UInt8.self) else { continue }
      let type = H264NALUnitType(rawValue: header)
      if type == .supplementalEnhancementInformation {
        if Self.hasRecoveryPoint(nalUnit) { return .recoveryPoint }
      } else if type.startsWithMacroblockAddress, isIntra ?? true {
        isIntra = Self.isIntra(nalUnit)
      }
    }
    return isIntra == true ? .intra : nil
  }

  /// Whether a payload of ``EncodedSample`` has a recovery point, at which a decoder may start: streams with intra refresh have no
  /// keyframe after the first one. Any bytes are accepted.
  package static func hasRecoveryPoint(in payload: ByteBuffer) -> Bool {
    var rest = payload
    while let length = rest.readInteger(as: UInt32.self), var nalUnit = rest.readSlice(length: Int(length)) {
      guard let header = nalUnit.readInteger(as: UInt8.self) else { continue }
      if H264NALUnitType(rawValue: header) == .supplementalEnhancementInformation, Self.hasRecoveryPoint(nalUnit) {
        return true
      }
    }
    return false
  }

  /// Whether messages have a recovery point, §D.1.8: `payloadType` 6.
  private static func hasRecoveryPoint(_ messages: ByteBuffer) -> Bool {
    self.message(6, in: messages) != nil
  }

  /// Payload of the first message with this `payloadType`, as much as there is of it, without emulation prevention; nil without one.
  ///
  /// - Parameter messages: A NAL unit of supplemental enhancement information behind its header.
  static func message(_ type: Int, in messages: ByteBuffer) -> ByteBuffer? {
    // Sizes do not count emulation prevention.
    var rest = ByteBuffer(bytes: H264EmulationPrevention.rawByteSequencePayload(of: [0] + messages.readableBytesView))
    // Behind the last message is the stop bit.
    while rest.readableBytes > 2, let found = self.readSum(&rest), let size = self.readSum(&rest) {
      if found == type { return rest.readSlice(length: min(size, rest.readableBytes)) }
      guard rest.readSlice(length: size) != nil else { return nil }
    }
    return nil
  }

  /// A number as the sum of bytes, of which the last one is not 255, §7.3.2.3.1.
  private static func readSum(_ bytes: inout ByteBuffer) -> Int? {
    var sum = 0
    while let byte = bytes.readInteger(as: UInt8.self) {
      sum += Int(byte)
      if byte != 255 { return sum }
    }
    return nil
  }

  /// Whether a slice is of type I or SI, table 7-6: 2 or 4, or 7 or 9 where all slices of the frame are.
  ///
  /// `first_mb_in_slice` and `slice_type` take 6 bytes at most, without emulation prevention: where two of these are zero, the next
  /// one is above 3.
  private static func isIntra(_ slice: ByteBuffer) -> Bool {
    var reader = BitReader(Array(slice.readableBytesView.prefix(6)))
    let limit = H264SequenceParameterSet.maximumMacroblockCount
    guard (try? reader.exponentialGolomb("first_mb_in_slice", upTo: limit)) != nil,
      let type = try? reader.exponentialGolomb("slice_type", upTo: 9)
    else { return false }
    return [2, 4, 7, 9].contains(type)
  }
}
