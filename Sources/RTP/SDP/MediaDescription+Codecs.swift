internal import Bitstreams
public import Media

extension MediaDescription {
  /// The media description of a codec.
  ///
  /// - Parameters:
  ///   - description: The codec's parameters, which go into `a=fmtp`.
  ///   - payloadType: 96 to 127.
  ///   - control: The track's URL for SETUP, relative to `Content-Base`, such as "trackID=0".
  ///   - bitrate: Bitrate in bits per second, for `b=AS:` in kilobits; nil when it is unknown.
  public init(_ description: CodecDescription, payloadType: UInt8, control: String, bitrate: Int? = nil) {
    switch description {
    case .h264(let h264): self = Self.h264(h264, payloadType: payloadType)
    case .aac(let aac): self = Self.aac(aac, payloadType: payloadType)
    }
    if let bitrate, bitrate > 0 { self.bandwidths = ["AS:\((bitrate - 1) / 1000 + 1)"] }
    self.attributes.append(SDPAttribute("control", control))
  }

  /// The codec of the first format.
  ///
  /// - Throws: `ParsingError`: `.unsupported` for other encodings and modes, `.missing` when a parameter that a decoder
  ///   needs is absent (an H.264 source may send its parameter sets in the stream only),
  ///   `.invalid` when one cannot be parsed.
  public func codecDescription() throws(ParsingError) -> CodecDescription {
    guard let payloadType = self.payloadType, let map = self.rtpMap(payloadType: payloadType) else {
      throw ParsingError(.missing, field: "rtpmap")
    }
    let parameters = self.formatParameters(payloadType: payloadType)
    if map.isEncoding("H264") {
      return .h264(try Self.h264(parameters, frameRate: self.frameRate))
    }
    if map.isEncoding("mpeg4-generic") {
      return .aac(try Self.aac(parameters))
    }
    throw ParsingError(.unsupported, field: "rtpmap")
  }

  /// The rate of `a=framerate`, rounded to three decimals; nil when it is absent or out of range.
  var frameRate: FrameRate? {
    guard
      let rate = self.attributes.value(of: "framerate").flatMap({ Double($0) }), rate >= 0.001, rate <= 1_000_000
    else { return nil }
    return FrameRate(Int32((rate * 1000).rounded()), over: 1000)
  }

  /// RFC 6184 §8.2.1.
  private static func h264(_ description: H264Description, payloadType: UInt8) -> Self {
    var media = Self(media: "video", formats: ["\(payloadType)"])
    let sets = [description.sequenceParameterSet, description.pictureParameterSet]
    let parameters = SDPFormatParameters([
      .init("packetization-mode", "1"),
      // The three bytes behind the NAL unit header: profile, constraint flags, level.
      .init("profile-level-id", Hexadecimal.encode(sets[0].dropFirst().prefix(3), uppercase: true)),
      .init("sprop-parameter-sets", sets.map { Base64.encode($0) }.joined(separator: ",")),
    ])
    media.attributes = [
      SDPAttribute("rtpmap", "\(payloadType) H264/90000"),
      SDPAttribute("fmtp", "\(payloadType) \(parameters.text)"),
      SDPAttribute("framerate", description.frameRate.description),
    ]
    return media
  }

  /// RFC 3640 §4.1, §3.3.6; profile-level-id 1 is the Main Audio Profile at level 1, which receivers ignore.
  private static func aac(_ description: AACDescription, payloadType: UInt8) -> Self {
    var media = Self(media: "audio", formats: ["\(payloadType)"])
    let parameters = SDPFormatParameters([
      .init("streamtype", "5"),
      .init("profile-level-id", "1"),
      .init("mode", "AAC-hbr"),
      .init("sizelength", "13"),
      .init("indexlength", "3"),
      .init("indexdeltalength", "3"),
      .init("config", Hexadecimal.encode(description.audioSpecificConfig, uppercase: true)),
    ])
    let format = description.format
    media.attributes = [
      SDPAttribute("rtpmap", "\(payloadType) mpeg4-generic/\(format.sampleRate)/\(format.channelCount)"),
      SDPAttribute("fmtp", "\(payloadType) \(parameters.text)"),
    ]
    return media
  }

  private static func h264(
    _ parameters: SDPFormatParameters, frameRate: FrameRate?
  ) throws(ParsingError) -> H264Description {
    if let mode = parameters["packetization-mode"], mode != "0", mode != "1" {
      throw ParsingError(.unsupported, field: "packetization-mode")
    }
    guard let text = parameters["sprop-parameter-sets"], !text.isEmpty else {
      throw ParsingError(.missing, field: "sprop-parameter-sets")
    }
    var sequence: [UInt8]?
    var pictureSet: [UInt8]?
    for part in text.split(separator: ",") {
      guard let set = Base64.decode(part.trimmed).map(Self.withoutStartCode), let header = set.first else {
        throw ParsingError(.invalid, field: "sprop-parameter-sets")
      }
      switch H264NALUnitType(rawValue: header) {
      case .sequenceParameterSet: sequence = sequence ?? set
      case .pictureParameterSet: pictureSet = pictureSet ?? set
      default: break
      }
    }
    guard let sequence, let pictureSet else { throw ParsingError(.missing, field: "sprop-parameter-sets") }
    do {
      return try H264Description(
        parsing: sequence, pictureParameterSet: pictureSet, frameRate: frameRate ?? FrameRate(25))
    } catch {
      throw ParsingError(error.code == .unsupported ? .unsupported : .invalid, field: "sprop-parameter-sets")
    }
  }

  /// A NAL unit without the start code of ITU-T H.264 §B.1, which some cameras write before it.
  private static func withoutStartCode(_ unit: [UInt8]) -> [UInt8] {
    let zeroCount = unit.prefix { $0 == 0 }.count
    guard zeroCount >= 2, zeroCount < unit.count, unit[zeroCount] == 1 else { return unit }
    return Array(unit[(zeroCount + 1)...])
  }

  private static func aac(_ parameters: SDPFormatParameters) throws(ParsingError) -> AACDescription {
    guard let text = parameters["config"] else { throw ParsingError(.missing, field: "config") }
    guard let bytes = Hexadecimal.decode(text) else { throw ParsingError(.invalid, field: "config") }
    do {
      let config = try AudioSpecificConfig(parsing: bytes)
      return AACDescription(
        audioSpecificConfig: bytes, format: config.format, samplesPerFrame: config.samplesPerFrame)
    } catch {
      throw ParsingError(error.code == .unsupported ? .unsupported : .invalid, field: "config")
    }
  }
}
