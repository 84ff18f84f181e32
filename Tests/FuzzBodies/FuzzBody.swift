internal import Bitstreams
internal import Media
public import NIOCore
internal import RTP

/// Checks of parsers with untrusted bytes: parse, check invariants, serialize, parse again. A violated invariant
/// traps, which the fuzzer reports; a thrown error is a valid result.
///
/// The fuzz targets of `FuzzTesting/` run these bodies, and a unit test replays their findings. To add a target: a
/// case here, its body, a target in `FuzzTesting/Package.swift`, a folder of seeds. To add a parser: ``FuzzedParser``.
public enum FuzzBody: String, CaseIterable, Sendable {
  /// SDP, and the codecs that it describes.
  case sdp = "FuzzSDP"
  /// RTP packets.
  case rtp = "FuzzRTP"
  /// RTCP compound packets.
  case rtcp = "FuzzRTCP"
  /// The depacketizers of H.264, VP8 and Opus, fed with several packets.
  case h264Depacketizer = "FuzzH264Depacketizer"
  /// The AAC depacketizer, fed with several packets.
  case aacDepacketizer = "FuzzAACDepacketizer"
  /// Parameter sets, access units with start codes and with lengths, `avcC`, AudioSpecificConfig and ADTS.
  case bitstreams = "FuzzSPS"
  /// RTSP messages, and a server session that receives them.
  case rtsp = "FuzzRTSP"
  /// RTMP connections, as server and as client.
  case rtmp = "FuzzRTMP"
  /// Values of AMF 0 and AMF 3.
  case amf = "FuzzAMF"
  /// Bodies and headers of FLV tags.
  case flv = "FuzzFLV"
  /// STUN messages, and datagrams in a byte stream.
  case stun = "FuzzSTUN"
  /// SRTP and SRTCP packets, and fingerprints of certificates.
  case srtp = "FuzzSRTP"
  /// WebRTC offers with their answers, and fragments of trickle ICE.
  case offer = "FuzzOffer"
  /// A WebRTC session: datagrams of its client and of strangers, RTCP behind SRTP, media and time in any order.
  case session = "FuzzSession"
  /// HLS requests, a session that gets samples and requests in any order, and streams of another process.
  case hls = "FuzzHLS"
  /// The server's own HTTP parsers: paths, queries, ranges, entity tags, codings.
  case http = "FuzzHTTP"
  /// Text that decides on access: `Host`, `Origin`, `Authorization`, tokens and the user file.
  case access = "FuzzAccess"
  /// JSON bodies that change the sources or settings of a stream.
  case control = "FuzzControl"
  /// Transport streams, and their muxer.
  case transportStream = "FuzzTransportStream"
  /// MP4 boxes, and the fragment muxer.
  case mp4 = "FuzzMP4"
  /// Unfinished files of recordings.
  case recording = "FuzzRecording"
  /// The repair of recordings, with files.
  case repair = "FuzzRepair"
  /// TensorFlow Lite models, and their execution.
  case tflite = "FuzzTFLite"
  /// Images for masks and overlays: PNG and JPEG.
  case png = "FuzzPNG"
  /// Settings of effects, and anchors of masks, as JSON.
  case effects = "FuzzEffects"
  /// Source specifications and credentials, as written on the command line, in the configuration file and over HTTP.
  case specification = "FuzzSpecification"
  /// YUV4MPEG2 header lines.
  case y4m = "FuzzY4M"
  /// JPEG images as cameras deliver them.
  case jpeg = "FuzzJPEG"
  /// Sizes, frame intervals and pixel formats that a camera's driver enumerates.
  case camera = "FuzzCamera"
  /// H.264 and AAC packets of cameras and of demuxers.
  case packet = "FuzzPacket"
  /// Replies of the X server, and names of ALSA.
  case deviceReply = "FuzzDeviceReply"
  /// The YAML configuration file and `--stream`.
  case configuration = "FuzzConfiguration"

  /// Parsers of the input, which are run before the body.
  package var parsers: [FuzzedParser] { Self.parsers[self] ?? [] }

  private static let parsers = Dictionary(grouping: FuzzedParser.allCases, by: \.body)

  /// Number of bytes before the input of the parsers, which select options of the body.
  var optionLength: Int {
    switch self {
    case .rtsp, .rtmp: 4
    case .amf, .flv, .srtp: 1
    default: 0
    }
  }

  /// Runs the body on one input.
  public func run(_ input: ByteBuffer) {
    for parser in self.parsers where !parser.isCalledByBody { try? parser.parse(input) }
    switch self {
    case .sdp: Self.checkSDP(input)
    case .rtp: Self.checkRTP(input)
    case .rtcp: Self.checkRTCP(input)
    case .h264Depacketizer: Self.checkH264Depacketizer(input)
    case .aacDepacketizer: Self.checkAACDepacketizer(input)
    case .bitstreams: Self.checkBitstreams(input)
    case .rtsp: RTSPFuzzCase(input).run()
    case .rtmp: RTMPFuzzCase(input).checkConnection()
    case .amf: RTMPFuzzCase(input).checkValues()
    case .flv: RTMPFuzzCase(input).checkTags()
    case .stun:
      WebRTCFuzzCase(input).checkFrames()
      WebRTCFuzzCase(input).checkSTUN()
    case .srtp: WebRTCFuzzCase(input).checkSRTP()
    case .offer: WebRTCFuzzCase(input).checkOffer()
    case .session:
      // A publisher's session, or a viewer's.
      if let first = input.readableBytesView.first, first & PublisherFuzzCase.mark == PublisherFuzzCase.mark {
        var publisher = PublisherFuzzCase(input)
        publisher.run()
      } else {
        var session = SessionFuzzCase(input)
        session?.run()
      }
    case .hls:
      HLSFuzzCase(input).run()
      HLSFuzzCase.checkSuspendedStreams(input)
    case .http: HTTPFuzzCase(input).run()
    case .access: AccessFuzzCase(input).run()
    case .control: ControlFuzzCase(input).run()
    case .transportStream: ContainerFuzzCase(input).checkTransportStream()
    case .mp4: ContainerFuzzCase(input).checkBoxes()
    case .recording: RecordingFuzzCase(input).run()
    case .repair: RepairFuzzCase(input).run()
    case .tflite: InferenceFuzzCase(input).run()
    case .png: EffectsFuzzCase(input).checkImage()
    case .effects: EffectsFuzzCase(input).checkSettings()
    case .specification: InputFuzzCase(input).checkSpecifications()
    case .y4m: InputFuzzCase(input).checkY4M()
    case .jpeg: InputFuzzCase(input).checkJPEG()
    case .camera:
      var camera = CameraFuzzCase(input)
      camera.run()
    case .packet:
      var packets = PacketFuzzCase(input)
      packets.run()
    case .deviceReply: DeviceReplyFuzzCase(input).run()
    case .configuration: ConfigurationFuzzCase(input).run()
    }
  }

  private static func checkSDP(_ input: ByteBuffer) {
    guard let session = try? SessionDescription(parsing: input) else { return }
    for media in session.media { _ = try? media.codecDescription() }
    var text = ByteBuffer()
    session.serialize(into: &text)
    // Repaired characters may exceed the limit.
    guard text.readableBytes <= SessionDescription.maximumLength else { return }
    guard let again = try? SessionDescription(parsing: text) else { preconditionFailure("what is written parses") }
    var rewritten = ByteBuffer()
    again.serialize(into: &rewritten)
    precondition(rewritten == text, "what is written stays")
  }

  private static func checkRTP(_ input: ByteBuffer) {
    guard let packet = try? RTPPacket(parsing: input) else { return }
    precondition(packet.payload.readableBytes <= input.readableBytes - RTPHeader.fixedLength)
    var bytes = ByteBuffer()
    packet.serialize(into: &bytes)
    precondition(bytes.readableBytes == input.readableBytes, "nothing is lost")
    precondition((try? RTPPacket(parsing: bytes)) == packet, "what is written parses the same")
    Self.checkExtension(of: packet)
  }

  /// Elements of the header extension, and the packet as its own retransmission.
  private static func checkExtension(of packet: RTPPacket) {
    if let header = packet.header.headerExtension, let elements = try? RTPExtensionElements(parsing: header),
      let again = try? RTPExtensionElements(parsing: elements.headerExtension)
    {
      precondition(again == elements, "what is written parses the same")
      for element in elements.elements { Self.checkValues(of: element.data) }
    }
    var stream = RTPRetransmission(ssrc: 1, payloadType: 97, firstSequenceNumber: 0)
    let original = try? RTPRetransmission.original(
      of: stream.packet(for: packet), ssrc: packet.header.ssrc, payloadType: packet.header.payloadType)
    precondition(original?.header == packet.header && original?.payload == packet.payload, "nothing is lost")
  }

  /// Values of header extensions that are parsed are written as the same bytes, whatever the extension of an identifier is.
  private static func checkValues(of data: [UInt8]) {
    for value in [
      RTPAbsoluteSendTime(parsing: data)?.data, RTPPlayoutDelay(parsing: data)?.data,
      RTPTransportWideSequenceNumber(parsing: data)?.data,
    ] {
      precondition(value == nil || value == data, "what is written parses the same")
    }
  }

  private static func checkRTCP(_ input: ByteBuffer) {
    guard let packet = try? RTCPCompoundPacket(parsing: input, allowsReducedSize: true) else { return }
    var bytes = ByteBuffer()
    packet.serialize(into: &bytes)
    let again = try? RTCPCompoundPacket(parsing: bytes, allowsReducedSize: true)
    precondition(again == packet, "what is written parses the same")
  }

  /// Splits the input into packets, each with a 16-bit length before it.
  private static func packets(_ input: ByteBuffer) -> [RTPPacket] {
    var rest = input
    var packets: [RTPPacket] = []
    while let bytes = rest.readLengthPrefixedSlice(as: UInt16.self) {
      if let packet = try? RTPPacket(parsing: bytes) { packets.append(packet) }
    }
    return packets
  }

  private static func checkH264Depacketizer(_ input: ByteBuffer) {
    let limit = 4096
    var vp8 = VP8Depacketizer(maximumFrameLength: limit)
    var opus = OpusDepacketizer()
    for packet in Self.packets(input) {
      for output in (try? vp8.depacketize(packet)) ?? [] {
        precondition((3...limit).contains(output.payload.readableBytes), "a frame is bounded, and has a header")
        precondition((try? VP8FrameHeader(parsing: output.payload)) == output.header && !vp8.awaitsKeyframe)
      }
      guard let output = try? opus.depacketize(packet) else { continue }
      precondition((1...OpusPacketHeader.maximumSampleCount).contains(output.header.sampleCount))
    }
    for dropsUntilKeyframe in [true, false] {
      var depacketizer = H264Depacketizer(dropsUntilKeyframe: dropsUntilKeyframe, maximumAccessUnitLength: limit)
      for packet in Self.packets(input) {
        guard let outputs = try? depacketizer.depacketize(packet) else { continue }
        precondition(outputs.count <= 2)
        for output in outputs {
          precondition((1...limit).contains(output.accessUnit.payload.readableBytes), "a unit is bounded, never empty")
          guard let parsed = try? H264AccessUnit(parsingAVCC: output.accessUnit.payload) else {
            preconditionFailure("lengths fit")
          }
          precondition(parsed.payload == output.accessUnit.payload, "only sample data is in the payload")
          precondition(parsed.isKeyframe == output.accessUnit.isKeyframe)
          precondition(!dropsUntilKeyframe || output.isComplete, "no damaged unit is returned")
          Self.checkRoundTrip(of: output.accessUnit.payload, isKeyframe: output.accessUnit.isKeyframe)
        }
      }
    }
  }

  /// Packetizes a depacketized access unit and compares the result.
  private static func checkRoundTrip(of payload: ByteBuffer, isKeyframe: Bool) {
    let description = H264Description(
      sequenceParameterSet: [0x67, 1], pictureParameterSet: [0x68, 2], width: 2, height: 2, frameRate: FrameRate(25))
    let sequence = RTPSenderState(
      ssrc: 1, payloadType: 96, clockRate: 90_000, timestampOffset: 0, firstSequenceNumber: 0xFFFE)
    var packetizer = H264Packetizer(description: description, sequence: sequence, maximumPayloadLength: 64)
    let sample = EncodedSample(
      kind: .video, payload: payload, presentationTime: .zero, duration: .zero, isKeyframe: isKeyframe)
    guard let batch = try? packetizer.packetize(sample) else { preconditionFailure("it was parsed") }
    var depacketizer = H264Depacketizer(dropsUntilKeyframe: false)
    var datagrams = batch.datagrams()
    var outputs: [H264Depacketizer.Output] = []
    for length in batch.packetLengths {
      guard
        let datagram = datagrams.readSlice(length: length), let packet = try? RTPPacket(parsing: datagram),
        let some = try? depacketizer.depacketize(packet)
      else { preconditionFailure("our packets are valid") }
      outputs += some
    }
    precondition(outputs.map(\.accessUnit.payload) == [payload], "a unit survives packets")
  }

  private static func checkAACDepacketizer(_ input: ByteBuffer) {
    for lengths in [("13", "3"), ("6", "2"), ("16", "0"), ("1", "16")] {
      let parameters = SDPFormatParameters([
        .init("sizelength", lengths.0), .init("indexlength", lengths.1), .init("indexdeltalength", lengths.1),
      ])
      guard var depacketizer = try? AACDepacketizer(parameters: parameters) else { preconditionFailure("valid") }
      for packet in Self.packets(input) {
        for output in (try? depacketizer.depacketize(packet)) ?? [] {
          precondition((1...0xFFFF).contains(output.payload.readableBytes), "a frame is bounded, never empty")
        }
      }
    }
  }

  private static func checkBitstreams(_ input: ByteBuffer) {
    let bytes = Array(input.readableBytesView)
    if let set = try? H264SequenceParameterSet(parsing: bytes) {
      precondition((1...16_880).contains(set.width) && (1...33_760).contains(set.height))
      precondition(set.profileLevelID.utf8.count == 6)
    }
    _ = H265SequenceParameterSet.first(in: bytes)
    if let configuration = try? AVCDecoderConfiguration(parsing: bytes) {
      precondition([1, 2, 4].contains(configuration.lengthSize))
      let sets = configuration.sequenceParameterSets + configuration.pictureParameterSets
      precondition(sets.allSatisfy { !$0.isEmpty } && sets.reduce(0) { $0 + $1.count + 2 } <= bytes.count)
      var record = ByteBuffer()
      configuration.serialize(into: &record)
      precondition((try? AVCDecoderConfiguration(parsing: Array(record.readableBytesView))) == configuration)
    }
    let units =
      [H264AccessUnit(parsingAnnexB: input)]
      + [1, 2, 4].map {
        try? H264AccessUnit(parsingAVCC: input, lengthSize: $0)
      }
    precondition(bytes.withUnsafeBytes { H264AccessUnit(parsingAnnexB: $0) } == H264AccessUnit(parsingAnnexB: input))
    for unit in units {
      guard let unit else { continue }
      guard let again = try? H264AccessUnit(parsingAVCC: unit.payload) else { preconditionFailure("lengths fit") }
      precondition(again.payload == unit.payload && again.isKeyframe == unit.isKeyframe)
      precondition(again.sequenceParameterSets.isEmpty && again.pictureParameterSets.isEmpty)
      precondition(again.isTurned == unit.isTurned && again.randomAccess == unit.randomAccess)
    }
    if let config = try? AudioSpecificConfig(parsing: bytes) {
      precondition((try? AudioSpecificConfig(parsing: config.serialize())) == config, "what is written parses the same")
    }
    if let config = try? StreamMuxConfig(parsing: bytes) {
      precondition((1...64).contains(config.frameCount))
      precondition((try? AudioSpecificConfig(parsing: config.audioSpecificConfig)) != nil, "its codec is known")
    }
    var rest = input
    if let header = try? ADTSHeader(parsing: &rest) {
      var written = ByteBuffer()
      header.serialize(into: &written)
      precondition(written.readableBytes == input.readableBytes - rest.readableBytes)
      precondition((try? ADTSHeader(parsing: &written)) == header, "what is written parses the same")
    }
  }
}
