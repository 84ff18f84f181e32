internal import Authentication
internal import Bitstreams
internal import Capture
internal import CaptureDevices
internal import Codecs
internal import Containers
internal import ControlAPI
internal import Effects
internal import Foundation
internal import HLS
internal import HTTPServer
internal import Inference
internal import Media
internal import MediaInput
package import NIOCore
internal import RTMP
internal import RTP
internal import RTSP
internal import Recording
internal import StreamControl
internal import VidiconCommand
internal import WebRTC

extension FuzzedParser {
  /// Refusal of a parser that throws no error.
  private struct Refusal: Error {}

  /// Parses the input of a body; throws where the parser refuses it.
  package func parse(_ input: ByteBuffer) throws {
    var bytes = input.dropping(self.body.optionLength)
    var array: [UInt8] { Array(bytes.readableBytesView) }
    var text: String { String(buffer: bytes) }
    func byte(_ index: Int) -> UInt8 { bytes.getInteger(at: bytes.readerIndex + index) ?? 0 }
    func box() throws -> MP4Box { try Self.require(MP4Box.boxes(in: bytes).first) }
    // The first chunk of a stream, with a header of 12 bytes.
    func message() -> RTMPMessage { RTMPMessage(type: RTMPMessageType(rawValue: byte(7)), payload: bytes.dropping(12)) }
    let extends = [UInt32(1), 2].map { TrackExtends(trackID: $0, defaultDuration: 3000, defaultFlags: .nonSync) }
    // The count in the first byte of an RTCP packet, whose body is behind 4 bytes.
    let (count, body) = (byte(0) & 31, bytes.dropping(4))
    var isSet = false
    var creation = RecordingCreation()
    switch self {
    case .authorization: try Self.require(Authorization(parsing: text))
    case .authority: try Self.require(Authority(parsing: text))
    case .ipAddress: try Self.require(IPAddress(parsing: text))
    case .origin: try Self.require(Origin(parsing: text))
    case .passwordHash: _ = try PasswordHash(parsing: text)
    case .userFile: _ = try UserFile(parsing: text)
    case .localResponse: try Self.require(LocalRequest.Response(parsing: Data(array)))
    case .serverAddress: try Self.require(ServerAddress(parsing: text))
    case .httpAddress: _ = try Self.require(HTTPAddress(parsing: text)).resolved("../\(text)")
    case .streamOptions: _ = try StreamOptions(parsing: text, defaults: StreamOptions())
    case .x11Setup: try Self.require(X11Setup.reply(parsing: array))
    case .cameraAccessUnit:
      var units = CameraAccessUnits(frameRate: FrameRate(30))
      guard case .sample = units.sample(parsing: bytes, at: .zero) else { throw Refusal() }
    case .jsonValue: try Self.require(JSONValue(parsing: bytes))
    case .h264PacketContent: _ = try H264PacketContent(parsing: bytes)
    case .vp8PayloadDescriptor: _ = try VP8PayloadDescriptor(parsing: &bytes)
    case .vp8FrameHeader: _ = try VP8FrameHeader(parsing: bytes)
    case .opusPacketHeader: _ = try OpusPacketHeader(parsing: bytes)
    case .hlsDirectives: guard HLSDirectives(parsing: text).problem == nil else { throw Refusal() }
    case .hlsPlaylist:
      let playlist = try HLSPlaylistDocument(parsing: text)
      _ = playlist.violations(ofLater: playlist)
    case .hlsSuspendedStreams: _ = try HLSSuspendedStreams(parsing: bytes)
    case .byteRange: guard case .part = ByteRange(parsing: text, length: 10) else { throw Refusal() }
    case .httpTarget: _ = try HTTPTarget(parsing: text)
    case .forwardedPrefix: try Self.require(HTTPTarget.prefix(parsing: text))
    case .mp4BoxHeader: try Self.require(MP4BoxHeader(parsing: &bytes))
    case .movieFragment: _ = try MovieFragment(parsing: box(), extends: extends)
    case .movieHeader: _ = try MovieHeader(parsing: box())
    case .movieTrack: _ = try MovieTrack(parsing: box())
    case .progressiveMP4: _ = try ProgressiveMP4(parsing: box())
    case .trackExtends: _ = try TrackExtends(parsing: box())
    case .trackFragment: _ = try TrackFragment(parsing: box(), extends: extends)
    case .headCopy: _ = try HeadCopy(parsing: bytes)
    case .recordingIdentity: try Self.require(RecordingIdentity(parsing: bytes, creation: &creation))
    case .imageHeader: _ = try ImageHeader(parsing: array)
    case .overlayImage: _ = try OverlayImage(parsing: array, name: "image")
    case .rtcpCompoundPacket: _ = try RTCPCompoundPacket(parsing: bytes, allowsReducedSize: true)
    case .rtcpExtendedReport: _ = try RTCPExtendedReport(parsing: body)
    case .rtcpFeedback: _ = try RTCPFeedback(type: byte(1), format: count, parsing: body)
    case .rtcpTransportWideFeedback: _ = try RTCPTransportWideFeedback(parsing: bytes.dropping(12))
    case .rtcpGoodbye: _ = try RTCPGoodbye(parsing: body, sourceCount: Int(count))
    case .rtcpPacket: _ = try RTCPPacket(type: byte(1), count: count, parsing: body)
    case .rtcpReceiverReport: _ = try RTCPReceiverReport(parsing: body, blockCount: Int(count))
    case .rtcpReportBlock: _ = try RTCPReportBlock(parsing: &bytes)
    case .rtcpSenderReport: _ = try RTCPSenderReport(parsing: body, blockCount: Int(count))
    case .rtcpSourceDescription: _ = try RTCPSourceDescription(parsing: body, chunkCount: Int(count))
    case .rtpExtensionElements:
      let header = try RTPPacket(parsing: bytes).header.headerExtension
      try Self.require(header.map { try RTPExtensionElements(parsing: $0) })
    case .rtpExtensionValue:
      _ = RTPAbsoluteSendTime(parsing: array)
      _ = RTPTransportWideSequenceNumber(parsing: array)
      try Self.require(RTPPlayoutDelay(parsing: array))
    case .rtpHeader: _ = try RTPHeader(parsing: &bytes, hasPadding: &isSet)
    case .rtpPacket: _ = try RTPPacket(parsing: bytes)
    case .rtspAnnouncement: _ = try RTSPAnnouncement(streamName: "live", parsing: bytes)
    case .rtspTransport: _ = try RTSPTransport.alternatives(parsing: text)
    case .rtspURL: _ = try RTSPURL(parsing: text)
    case .rtmpCommand: try Self.require(RTMPCommand(parsing: message()))
    case .rtmpControlMessage: try Self.require(RTMPControlMessage(parsing: message()))
    case .rtmpMetadata: try Self.require(RTMPMetadata(parsing: message()))
    case .rtmpURL: _ = try RTMPURL(parsing: text)
    case .amf0Values: _ = try AMF0Reader.values(parsing: bytes)
    case .flvAudioTag: _ = try FLVAudioTag(parsing: bytes)
    case .flvTagHeader: _ = try FLVTagHeader(parsing: &bytes)
    case .flvVideoTag: _ = try FLVVideoTag(parsing: bytes)
    case .mediaDescription: try Self.require(MediaDescription(parsing: text[...]))
    case .rtpMap: try Self.require(RTPMap(parsing: text))
    case .sdpAttribute: _ = SDPAttribute(parsing: text[...])
    case .sdpFormatParameters: _ = SDPFormatParameters(parsing: text)
    case .sessionDescription: _ = try SessionDescription(parsing: bytes)
    case .adtsHeader: _ = try ADTSHeader(parsing: &bytes)
    case .audioSpecificConfig: _ = try AudioSpecificConfig(parsing: array)
    case .avccNALUnits: _ = try AVCCNALUnits(parsing: bytes)
    case .avcDecoderConfiguration: _ = try AVCDecoderConfiguration(parsing: array)
    case .h264AccessUnit:
      _ = H264AccessUnit(parsingAnnexB: bytes)
      _ = try H264AccessUnit(parsingAVCC: bytes)
    case .h264PictureParameterSet: _ = try H264PictureParameterSet(parsing: array)
    case .h264SequenceParameterSet: _ = try H264SequenceParameterSet(parsing: array)
    case .h265SequenceParameterSet: _ = try H265SequenceParameterSet(parsing: array)
    case .streamMuxConfig: _ = try StreamMuxConfig(parsing: array)
    case .credentials:
      _ = AccessToken(parsing: text, role: .viewer)
      try Self.require(Credentials(parsing: text))
    case .cameraSpecification: _ = try CameraSpecification(parsing: text)
    case .microphoneSpecification: _ = try MicrophoneSpecification(parsing: text)
    case .screenSpecification: _ = try ScreenSpecification(parsing: text)
    case .frameRate: try Self.require(FrameRate(parsing: text, in: 1...240))
    case .networkSpecification: _ = try NetworkSpecification(parsing: text)
    case .sourceSpecification:
      _ = try? SourceSpecification.Audio(parsing: text)
      _ = try SourceSpecification.Video(parsing: text)
    case .h264ProfileLevel: _ = try H264ProfileLevel(parsing: text)
    case .iceCandidate: _ = try ICECandidate(parsing: text)
    case .trickleFragment: _ = try TrickleFragment(parsing: bytes)
    case .whipURL: _ = try WHIPURL(parsing: text)
    case .webRTCOffer: _ = try WebRTCOffer(parsing: bytes)
    case .certificateFingerprint: _ = try CertificateFingerprint(parsing: text)
    case .stunAttribute:
      _ = try STUNAttribute(type: bytes.readInteger() ?? 0, parsing: bytes, transactionID: STUNTransactionID(1, 2))
    case .stunMessage: _ = try STUNMessage(parsing: bytes)
    case .tfliteOperator:
      // Tables of operators have no meaning outside of a model.
      try Self.require(TFLiteModel(parsing: array).operators.first as TFLiteOperator?)
    case .tfliteModel: _ = try TFLiteModel(parsing: array)
    case .programMap: _ = try ProgramMap(parsing: bytes)
    case .segmentStart: _ = try SegmentStart(parsing: bytes, initialization: bytes)
    case .programSection: _ = try ProgramSection(parsing: bytes, tableID: byte(0))
    case .y4mHeader: _ = try Y4MHeader(parsing: array, source: "pipe:")
    }
  }

  /// The value of a parser that returns nil where it refuses an input.
  @discardableResult
  private static func require<Value>(_ value: Value?) throws -> Value {
    guard let value else { throw Refusal() }
    return value
  }
}

extension ByteBuffer {
  /// The bytes behind the first ones; empty when there are none.
  fileprivate func dropping(_ count: Int) -> ByteBuffer {
    var rest = self
    rest.moveReaderIndex(forwardBy: min(count, rest.readableBytes))
    return rest
  }
}
