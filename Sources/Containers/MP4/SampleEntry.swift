internal import Bitstreams
internal import Media
internal import NIOCore

/// Sample entry of the `stsd` box: `avc1` or `mp4a` with the decoder configuration.
struct SampleEntry {
  private let description: CodecDescription

  init(_ description: CodecDescription) {
    self.description = description
  }

  /// Display size in square pixels; zero for audio.
  var displaySize: (width: Int, height: Int) {
    guard case .h264(let h264) = self.description else { return (0, 0) }
    guard
      let ratio = (try? H264SequenceParameterSet(parsing: h264.sequenceParameterSet))?.vui?.sampleAspectRatio
    else { return (h264.width, h264.height) }
    return (h264.width * Int(ratio.width) / Int(ratio.height), h264.height)
  }

  func serialize(into buffer: inout ByteBuffer) {
    switch self.description {
    case .h264(let h264): Self.write(h264, to: &buffer)
    case .aac(let aac): Self.write(aac, to: &buffer)
    }
  }

  /// AVCSampleEntry, ISO/IEC 14496-15 §5.4.2.1: `avc1` has no parameter sets in samples.
  private static func write(_ h264: H264Description, to buffer: inout ByteBuffer) {
    let set = try? H264SequenceParameterSet(parsing: h264.sequenceParameterSet)
    buffer.writeBox("avc1") {
      $0.writeZeros(6)
      $0.writeInteger(UInt16(1))  // data_reference_index
      $0.writeZeros(16)
      $0.writeInteger(UInt16(clamping: h264.width))
      $0.writeInteger(UInt16(clamping: h264.height))
      $0.writeInteger(UInt32(72 << 16))  // horizresolution in dots per inch
      $0.writeInteger(UInt32(72 << 16))  // vertresolution
      $0.writeZeros(4)
      $0.writeInteger(UInt16(1))  // frame_count
      $0.writeZeros(32)  // compressorname
      $0.writeInteger(UInt16(0x18))  // depth
      $0.writeInteger(Int16(-1))
      $0.writeBox("avcC") { AVCDecoderConfiguration(h264).serialize(into: &$0) }
      if let vui = set?.vui { Self.write(vui, to: &$0) }
    }
  }

  /// `pasp` and `colr` boxes, ISO/IEC 14496-12 §12.1.4 and §12.1.5, if the VUI parameters have them.
  private static func write(_ vui: VUIParameters, to buffer: inout ByteBuffer) {
    if let color = vui.colourDescription {
      buffer.writeBox("colr") {
        $0.writeInteger(FourCharacterCode("nclx").rawValue)
        $0.writeInteger(UInt16(color.primaries))
        $0.writeInteger(UInt16(color.transferCharacteristics))
        $0.writeInteger(UInt16(color.matrixCoefficients))
        $0.writeInteger(UInt8(vui.isFullRange ? 0x80 : 0))
      }
    }
    if let ratio = vui.sampleAspectRatio {
      buffer.writeBox("pasp") {
        $0.writeInteger(UInt32(ratio.width))
        $0.writeInteger(UInt32(ratio.height))
      }
    }
  }

  /// MP4AudioSampleEntry, ISO/IEC 14496-14 §5.6.1.
  private static func write(_ aac: AACDescription, to buffer: inout ByteBuffer) {
    buffer.writeBox("mp4a") {
      $0.writeZeros(6)
      $0.writeInteger(UInt16(1))  // data_reference_index
      $0.writeZeros(8)
      $0.writeInteger(UInt16(clamping: aac.format.channelCount))
      $0.writeInteger(UInt16(16))  // samplesize
      $0.writeZeros(4)
      // 16.16 cannot represent 96 kHz; decoders read the AudioSpecificConfig.
      $0.writeInteger(UInt32(UInt16(exactly: aac.format.sampleRate) ?? 0) << 16)
      $0.writeFullBox("esds") { Self.writeDescriptor(aac, to: &$0) }
    }
  }

  /// ES_Descriptor, ISO/IEC 14496-1 §7.2.6.5.
  private static func writeDescriptor(_ aac: AACDescription, to buffer: inout ByteBuffer) {
    // DecSpecificInfoTag with the AudioSpecificConfig.
    let specific = Self.descriptor(tag: 0x05, aac.audioSpecificConfig)
    // DecoderConfigDescrTag: ISO/IEC 14496-3 audio, AudioStream, buffer size and bitrates unknown.
    let config = Self.descriptor(tag: 0x04, [0x40, 0x05 << 2 | 1] + [UInt8](repeating: 0, count: 11) + specific)
    // SLConfigDescrTag: predefined 2, MP4 files.
    let synchronization = Self.descriptor(tag: 0x06, [0x02])
    // ES_DescrTag: ES_ID 0 and no options.
    buffer.writeBytes(Self.descriptor(tag: 0x03, [0, 0, 0] + config + synchronization))
  }

  /// Descriptor: tag, length as four groups of seven bits, content of at most 2²⁸ - 1 bytes.
  private static func descriptor(tag: UInt8, _ content: [UInt8]) -> [UInt8] {
    let length = [21, 14, 7, 0].map { shift -> UInt8 in
      let group = UInt8(content.count >> shift & 0x7F)
      return shift > 0 ? group | 0x80 : group
    }
    return [tag] + length + content
  }
}
