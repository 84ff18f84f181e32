package import NIOCore

/// RTP payloads of a publisher's frames, whose content no decoder sees.
package enum PublisherPayloads {
  /// Parameter sets of x264: 1280×720, Constrained Baseline.
  package static let parameterSets: [[UInt8]] = [
    [
      0x67, 0x42, 0xC0, 0x1F, 0xD9, 0x00, 0x50, 0x05, 0xBB, 0xFF, 0x00, 0x03, 0x00, 0x04, 0x10, 0x00, 0x00, 0x03, 0x00,
      0x10, 0x00, 0x00, 0x03, 0x03, 0xC0, 0xF1, 0x83, 0x24, 0x80,
    ], [0x68, 0xCB, 0x83, 0xCB, 0x20],
  ]

  /// A frame as browsers packetize it: STAP-A with the parameter sets, then FU-A.
  package static func h264(isKeyframe: Bool, packetCount: Int, sets: [[UInt8]] = parameterSets) -> [ByteBuffer] {
    var payloads: [ByteBuffer] = []
    if isKeyframe {
      var stap = ByteBuffer(bytes: [0x78])
      for set in sets {
        stap.writeInteger(UInt16(set.count))
        stap.writeBytes(set)
      }
      payloads.append(stap)
    }
    let type: UInt8 = isKeyframe ? 0x05 : 0x01
    for index in 0..<max(2, packetCount) {
      let isStart = index == 0
      let isEnd = index == max(2, packetCount) - 1
      var payload = ByteBuffer(bytes: [0x7C, (isStart ? 0x80 : 0) | (isEnd ? 0x40 : 0) | type])
      // first_mb_in_slice 0, and slice_type 7 (I) or 5 (P), in the first byte behind the header.
      payload.writeBytes([isStart ? (isKeyframe ? 0x88 : 0x9A) : 0x55] + [UInt8](repeating: 0x11, count: 200))
      payloads.append(payload)
    }
    return payloads
  }

  package static func vp8(isKeyframe: Bool, packetCount: Int) -> [ByteBuffer] {
    (0..<packetCount).map { index in
      var payload = ByteBuffer(bytes: [index == 0 ? 0x10 : 0x00])
      if index == 0 {
        payload.writeBytes(
          isKeyframe ? [0x10, 0x02, 0x00, 0x9D, 0x01, 0x2A, 0x80, 0x02, 0x68, 0x01] : [0x11, 0x02, 0x00])
      }
      payload.writeRepeatingByte(0x22, count: 200)
      return payload
    }
  }
}
