/// The bytes `03` that keep start codes out of a NAL unit's content, ITU-T H.264 §7.4.1.
enum H264EmulationPrevention {
  /// The raw byte sequence payload of a NAL unit: its bytes after the header byte, each `00 00 03` as `00 00`.
  ///
  /// For parameter sets, which are short; slices are passed on as they are.
  static func rawByteSequencePayload(of nalUnit: [UInt8]) -> [UInt8] {
    var payload: [UInt8] = []
    payload.reserveCapacity(nalUnit.count)
    var zeros = 0
    for byte in nalUnit.dropFirst() {
      if zeros >= 2, byte == 3 {
        zeros = 0
        continue
      }
      zeros = byte == 0 ? zeros + 1 : 0
      payload.append(byte)
    }
    return payload
  }
}
