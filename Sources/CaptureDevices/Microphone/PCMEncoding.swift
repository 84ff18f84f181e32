/// Encoding of a sample in the memory of an audio device, named as by ALSA.
enum PCMEncoding: String, Hashable, Sendable, CaseIterable {
  /// 32-bit floating point, -1 to 1.
  case float32 = "FLOAT_LE"
  /// 32-bit integer.
  case int32 = "S32_LE"
  /// 24-bit integer in 3 bytes.
  case int24 = "S24_3LE"
  /// 24-bit integer in the lower 3 of 4 bytes; the upper one is undefined.
  case int24In32 = "S24_LE"
  /// 16-bit integer.
  case int16 = "S16_LE"
  /// 16-bit integer, big-endian.
  case int16BigEndian = "S16_BE"
  /// 8-bit integer, 128 for silence.
  case uint8 = "U8"

  /// Size of a sample in bytes.
  var byteCount: Int {
    switch self {
    case .float32, .int32, .int24In32: 4
    case .int24: 3
    case .int16, .int16BigEndian: 2
    case .uint8: 1
    }
  }

  /// Converts samples to floating point.
  ///
  /// - Parameters:
  ///   - bytes: Interleaved samples of all channels; an incomplete set at the end is ignored.
  ///   - channels: Number of the device's channels, at least 1.
  ///   - kept: Number of channels to keep, from the first one on; at most `channels`.
  /// - Returns: Interleaved samples of the kept channels, -1 to 1.
  func samples(in bytes: UnsafeRawBufferPointer, channels: Int, keeping kept: Int) -> [Float] {
    let stride = self.byteCount * channels
    let count = bytes.count / stride
    return [Float](unsafeUninitializedCapacity: count * kept) { samples, used in
      for index in 0..<count {
        for channel in 0..<kept {
          samples[index * kept + channel] = self.sample(in: bytes, at: index * stride + channel * self.byteCount)
        }
      }
      used = count * kept
    }
  }

  private func sample(in bytes: UnsafeRawBufferPointer, at offset: Int) -> Float {
    switch self {
    case .float32:
      let value = Float(bitPattern: UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)))
      return value.isFinite ? value : 0
    case .int32: return Float(Int32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Int32.self))) / 0x1p31
    case .int24:
      let upper = Int32(Int8(bitPattern: bytes[offset + 2])) << 16
      return Float(upper | Int32(bytes[offset + 1]) << 8 | Int32(bytes[offset])) / 0x1p23
    case .int24In32:
      let value = Int32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Int32.self))
      return Float((value << 8) >> 8) / 0x1p23
    case .int16: return Float(Int16(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Int16.self))) / 0x1p15
    case .int16BigEndian:
      return Float(Int16(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Int16.self))) / 0x1p15
    case .uint8: return (Float(bytes[offset]) - 128) / 128
    }
  }
}
