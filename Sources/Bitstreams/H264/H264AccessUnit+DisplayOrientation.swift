internal import NIOCore

extension H264AccessUnit {
  /// Whether a display orientation message, ITU-T H.264 §D.1.27, says that the frames are to be turned or mirrored: telephones send it
  /// with keyframes. Decoders apply it, most players do not.
  ///
  /// ```
  /// display_orientation_cancel_flag    u(1)   1: upright, and nothing follows
  /// hor_flip, ver_flip                 u(1)
  /// anticlockwise_rotation             u(16)  after the flips; 2¹⁶ is a whole turn
  /// ```
  package var isTurned: Bool {
    var rest = self.payload
    while let length = rest.readInteger(as: UInt32.self), var nalUnit = rest.readSlice(length: Int(length)) {
      guard let header = nalUnit.readInteger(as: UInt8.self),
        H264NALUnitType(rawValue: header) == .supplementalEnhancementInformation,
        let message = Self.message(47, in: nalUnit)
      else { continue }
      return Self.isTurned(by: message)
    }
    return false
  }

  /// Whether frames are not upright, to the next quarter turn; false for a message that is cut off.
  private static func isTurned(by message: ByteBuffer) -> Bool {
    var reader = BitReader(Array(message.readableBytesView))
    guard let isCancelled = try? reader.flag("display_orientation_cancel_flag"), !isCancelled,
      let isMirrored = try? reader.flag("hor_flip"), let isUpsideDown = try? reader.flag("ver_flip"),
      let rotation = try? reader.bits(16, "anticlockwise_rotation")
    else { return false }
    let quarters = (Int(rotation) + 0x2000) / 0x4000 % 4
    // Both flips are half a turn.
    return isMirrored != isUpsideDown || quarters != (isMirrored ? 2 : 0)
  }
}
