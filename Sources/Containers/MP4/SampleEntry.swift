internal import Bitstreams
internal import Media
internal import NIOCore

/// What a decoder must know of a track, as an entry of the `stsd` box: `avc1` or `mp4a`.
struct SampleEntry {
  private let description: CodecDescription

  init(_ description: CodecDescription) {
    self.description = description
  }

  /// The picture's size in square pixels; none for sound.
  var displaySize: (width: Int, height: Int) {
    guard case .h264(let h264) = self.description else { return (0, 0) }
    guard
      let ratio = (try? H264SequenceParameterSet(parsing: h264.sequenceParameterSet))?.usability?.sampleAspectRatio
    else { return (h264.width, h264.height) }
    return (h264.width * Int(ratio.width) / Int(ratio.height), h264.height)
  }

  func serialize(into buffer: inout ByteBuffer) {
    switch self.description {
    case .h264(let h264): Self.write(h264, to: &buffer)
    case .aac(let aac): Self.write(aac, to: &buffer)
    }
  }

  /// AVCSampleEntry, ISO/IEC 14496-15 §5.4.2.1: parameter sets stand here only.
  private static func write(_ h264: H264Description, to buffer: inout ByteBuffer) {
    let set = try? H264SequenceParameterSet(parsing: h264.sequenceParameterSet)
    buffer.writeBox("avc1") {
      $0.writeZeros(6)
      $0.writeInteger(UInt16(1))  // data_reference_index
      $0.writeZeros(16)
      $0.writeInteger(UInt16(clamping: h264.width))
      $0.writeInteger(UInt16(clamping: h264.height))
      $0.writeInteger(UInt32(72 << 16))  // horizresolution, dots an inch
      $0.writeInteger(UInt32(72 << 16))  // vertresolution
      $0.writeZeros(4)
      $0.writeInteger(UInt16(1))  // frame_count
      $0.writeZeros(32)  // compressorname
      $0.writeInteger(UInt16(0x18))  // depth
      $0.writeInteger(Int16(-1))
      $0.writeBox("avcC") { AVCDecoderConfiguration(h264).serialize(into: &$0) }
      if let usability = set?.usability { Self.write(usability, to: &$0) }
    }
  }

  /// Colours and the shape of pixels, ISO/IEC 14496-12 §12.1.4 and §12.1.5, where the parameter set tells them.
  private static func write(_ usability: VUIParameters, to buffer: inout ByteBuffer) {
    if let colour = usability.colour {
      buffer.writeBox("colr") {
        $0.writeInteger(FourCharacterCode("nclx").rawValue)
        $0.writeInteger(UInt16(colour.primaries))
        $0.writeInteger(UInt16(colour.transferCharacteristics))
        $0.writeInteger(UInt16(colour.matrixCoefficients))
        $0.writeInteger(UInt8(usability.isFullRange ? 0x80 : 0))
      }
    }
    if let ratio = usability.sampleAspectRatio {
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
      // In 16.16, so that 96 kHz does not fit; decoders read the configuration.
      $0.writeInteger(UInt32(UInt16(exactly: aac.format.sampleRate) ?? 0) << 16)
      $0.writeFullBox("esds") { Self.writeDescriptor(aac, to: &$0) }
    }
  }

  /// ES_Descriptor, ISO/IEC 14496-1 §7.2.6.5.
  private static func writeDescriptor(_ aac: AACDescription, to buffer: inout ByteBuffer) {
    // DecSpecificInfoTag with the AudioSpecificConfig.
    let specific = Self.descriptor(tag: 0x05, aac.audioSpecificConfig)
    // DecoderConfigDescrTag: ISO/IEC 14496-3 audio, an audio stream, buffer size and bit rates not told.
    let config = Self.descriptor(tag: 0x04, [0x40, 0x05 << 2 | 1] + [UInt8](repeating: 0, count: 11) + specific)
    // SLConfigDescrTag: as in MP4 files.
    let synchronization = Self.descriptor(tag: 0x06, [0x02])
    // ES_DescrTag: ES_ID 0 and no options.
    buffer.writeBytes(Self.descriptor(tag: 0x03, [0, 0, 0] + config + synchronization))
  }

  /// A tag, the length in groups of seven bits, always four as other writers do, and the content; at most 2²⁸ - 1 bytes.
  private static func descriptor(tag: UInt8, _ content: [UInt8]) -> [UInt8] {
    let length = [21, 14, 7, 0].map { UInt8(content.count >> $0 & 0x7F) | ($0 > 0 ? 0x80 : 0) }
    return [tag] + length + content
  }
}
