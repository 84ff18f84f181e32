public import Media
public import NIOCore

/// The body of an FLV video tag, and of a video message of RTMP: H.264 as in FLV 10.1 Annex E.4.3, or with the extended
/// header of Enhanced RTMP v2.
///
/// ```
/// FLV 10.1       FrameType (4 bits), CodecID 7 (4), AVCPacketType (8), CompositionTime (24, signed), data
/// Enhanced RTMP  1, FrameType (3 bits), packet type (4), [ModEx: length, data, its type (4), packet type (4)] …,
///                FourCC, [composition time (24, signed) in coded frames], data
/// ```
public enum FLVVideoTag: Hashable, Sendable {
  /// The `AVCDecoderConfigurationRecord`: parameter sets for all access units that follow.
  case configuration(ByteBuffer)
  /// An access unit whose NAL units have lengths of the size that the configuration names; with the time from decoding to
  /// presentation in milliseconds, -2²³ to 2²³ - 1.
  case accessUnit(ByteBuffer, compositionTime: Int32, isKeyframe: Bool)
  /// The end of the sequence: no data follows.
  case endOfSequence
  /// A command to the player, metadata of the frame, or no byte at all.
  case ignored

  /// Parses the body of a tag.
  ///
  /// - Throws: `.truncated`; `.unsupported` for another codec, which the field names, or for several tracks; `.invalid` for a
  ///   reserved packet type.
  public init(parsing body: ByteBuffer) throws(ParsingError) {
    var rest = body
    guard let first = rest.readInteger(as: UInt8.self) else {
      self = .ignored
      return
    }
    if first & 0b1000_0000 != 0 {
      try self.init(extended: first, parsing: &rest)
    } else {
      try self.init(legacy: first, parsing: &rest)
    }
  }

  /// Appends the body with the header of FLV 10.1, which every receiver knows.
  public func serialize(into buffer: inout ByteBuffer) {
    switch self {
    case .configuration(let record):
      buffer.writeMultipleIntegers(UInt8(0x17), UInt8(0), UInt8(0), UInt16(0))
      buffer.writeImmutableBuffer(record)
    case .accessUnit(let payload, let compositionTime, let isKeyframe):
      buffer.writeMultipleIntegers(
        UInt8(isKeyframe ? 0x17 : 0x27), UInt8(1), UInt8(truncatingIfNeeded: compositionTime >> 16),
        UInt16(truncatingIfNeeded: compositionTime))
      buffer.writeImmutableBuffer(payload)
    case .endOfSequence: buffer.writeMultipleIntegers(UInt8(0x17), UInt8(2), UInt8(0), UInt16(0))
    case .ignored: break
    }
  }

  private init(legacy first: UInt8, parsing rest: inout ByteBuffer) throws(ParsingError) {
    // FrameType 5 is a command to the player.
    guard first >> 4 != 5 else {
      self = .ignored
      return
    }
    guard first & 0x0F == 7 else {
      throw ParsingError(.unsupported, field: FLVCodecName.video(id: first & 0x0F), offset: 0)
    }
    guard let type = rest.readInteger(as: UInt8.self) else {
      throw ParsingError(.truncated, field: "AVCPacketType", offset: 1)
    }
    guard let compositionTime = rest.readCompositionTime() else {
      // Some senders end the sequence without a time.
      guard type == 2 else { throw ParsingError(.truncated, field: "CompositionTime", offset: 2) }
      self = .endOfSequence
      return
    }
    switch type {
    case 0: self = .configuration(rest.slice())
    case 1: self = .accessUnit(rest.slice(), compositionTime: compositionTime, isKeyframe: first >> 4 == 1)
    case 2: self = .endOfSequence
    default: throw ParsingError(.invalid, field: "AVCPacketType", offset: 1)
    }
  }

  private init(extended first: UInt8, parsing rest: inout ByteBuffer) throws(ParsingError) {
    let length = rest.readableBytes + 1
    let frameType = first >> 4 & 0b0111
    let packetType = try FLVModEx.packetType(behind: first & 0x0F, parsing: &rest)
    // A command to the player; metadata (4) of frame type 5 is metadata.
    guard frameType != 5 || packetType == 4 else {
      self = .ignored
      return
    }
    guard packetType != 6 else { throw ParsingError(.unsupported, field: "several video tracks", offset: 0) }
    guard let code = rest.readInteger(as: UInt32.self).map(FourCharacterCode.init) else {
      throw ParsingError(.truncated, field: "videoFourCc", offset: length - rest.readableBytes)
    }
    guard code == "avc1" else {
      throw ParsingError(.unsupported, field: FLVCodecName.video(code), offset: length - rest.readableBytes - 4)
    }
    switch packetType {
    case 0: self = .configuration(rest.slice())
    case 1:
      guard let compositionTime = rest.readCompositionTime() else {
        throw ParsingError(.truncated, field: "compositionTimeOffset", offset: length - rest.readableBytes)
      }
      self = .accessUnit(rest.slice(), compositionTime: compositionTime, isKeyframe: frameType == 1)
    case 2: self = .endOfSequence
    case 3: self = .accessUnit(rest.slice(), compositionTime: 0, isKeyframe: frameType == 1)
    case 4: self = .ignored
    default: throw ParsingError(.invalid, field: "videoPacketType", offset: 0)
    }
  }
}

/// Modifiers in front of a packet, Enhanced RTMP v2 "ModEx": none is needed to decode, so that they are skipped.
enum FLVModEx {
  private static let packetType: UInt8 = 7

  /// The packet type behind all modifiers.
  ///
  /// - Parameter type: The packet type of the tag's first byte.
  static func packetType(behind type: UInt8, parsing rest: inout ByteBuffer) throws(ParsingError) -> UInt8 {
    let length = rest.readableBytes + 1
    var type = type
    while type == Self.packetType {
      let offset = length - rest.readableBytes
      var size = rest.readInteger(as: UInt8.self).map { Int($0) + 1 }
      if size == 256 { size = rest.readInteger(as: UInt16.self).map { Int($0) + 1 } }
      guard let size, rest.readSlice(length: size) != nil, let types = rest.readInteger(as: UInt8.self) else {
        throw ParsingError(.truncated, field: "ModEx", offset: offset)
      }
      type = types & 0x0F
    }
    return type
  }
}

/// Names of the codecs that are refused, for messages to users.
enum FLVCodecName {
  /// The codec of a CodecID, FLV 10.1 Annex E.4.3.1; 12 and 13 are what some encoders write for HEVC and AV1.
  static func video(id: UInt8) -> String {
    switch id {
    case 2: "video codec Sorenson H.263"
    case 3, 6: "video codec Screen Video"
    case 4, 5: "video codec VP6"
    case 12: "video codec HEVC"
    case 13: "video codec AV1"
    default: "video codec \(id)"
    }
  }

  /// The codec of a FourCC, Enhanced RTMP v2.
  static func video(_ code: FourCharacterCode) -> String {
    switch code {
    case "hvc1": "video codec HEVC"
    case "av01": "video codec AV1"
    case "vp09": "video codec VP9"
    case "vp08": "video codec VP8"
    default: "video codec \(code)"
    }
  }

  /// The codec of an audio format, FLV 10.1 Annex E.4.2.1; 13 is what some encoders write for Opus.
  static func audio(id: UInt8) -> String {
    switch id {
    case 0, 3: "audio codec PCM"
    case 1: "audio codec ADPCM"
    case 2, 14: "audio codec MP3"
    case 4, 5, 6: "audio codec Nellymoser"
    case 7, 8: "audio codec G.711"
    case 11: "audio codec Speex"
    case 13: "audio codec Opus"
    default: "audio codec \(id)"
    }
  }

  /// The codec of a FourCC, Enhanced RTMP v2.
  static func audio(_ code: FourCharacterCode) -> String {
    switch code {
    case "Opus": "audio codec Opus"
    case "fLaC": "audio codec FLAC"
    case "ac-3", "ec-3": "audio codec AC-3"
    case ".mp3": "audio codec MP3"
    default: "audio codec \(code)"
    }
  }
}

extension ByteBuffer {
  /// Reads a signed number of 24 bits, big-endian.
  fileprivate mutating func readCompositionTime() -> Int32? {
    guard let (high, low) = self.readMultipleIntegers(as: (Int8, UInt16).self) else { return nil }
    return Int32(high) << 16 | Int32(low)
  }
}
