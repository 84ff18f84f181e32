/// A parser of bytes from outside, named by its file: the module and the file name without ending.
///
/// `RepositoryTests` compares the cases with the files that declare parsers; `FuzzBodiesTests` parses the seeds. To add a parser:
/// a case here, its body, its call, and a seed that it accepts.
package enum FuzzedParser: String, CaseIterable {
  /// Value of an `Authorization` header.
  case authorization = "Authentication/Authorization"
  /// Value of a `Host` header.
  case authority = "Authentication/HostPolicy"
  /// Address of IPv4 or IPv6.
  case ipAddress = "Authentication/IPAddress"
  /// Value of an `Origin` header.
  case origin = "Authentication/OriginPolicy"
  /// Hash of a password in the PHC format.
  case passwordHash = "Authentication/PasswordHash"
  /// File of users, a line each.
  case userFile = "Authentication/UserFile"
  /// Response to a command of the program.
  case localResponse = "VidiconCommand/LocalRequest"
  /// Addresses of a running server.
  case serverAddress = "VidiconCommand/ServerAddress"
  /// Address of HTTP in a playlist or a redirect.
  case httpAddress = "VidiconCommand/HTTPAddress"
  /// Value of `--stream`.
  case streamOptions = "VidiconCommand/StreamOptions"
  /// Reply of the X server to a connection setup.
  case x11Setup = "CaptureDevices/X11Setup"
  /// Buffer of a camera that compresses in H.264.
  case cameraAccessUnit = "CaptureDevices/CameraAccessUnits"
  /// JSON body of a request.
  case jsonValue = "ControlAPI/JSONValue"
  /// RTP payload of H.264.
  case h264PacketContent = "RTP/H264PacketContent"
  /// Descriptor before an RTP payload of VP8.
  case vp8PayloadDescriptor = "RTP/VP8PayloadDescriptor"
  /// Header of a VP8 frame.
  case vp8FrameHeader = "Bitstreams/VP8FrameHeader"
  /// Start of an Opus packet.
  case opusPacketHeader = "Bitstreams/OpusPacketHeader"
  /// Delivery directives in a query.
  case hlsDirectives = "HLS/HLSRequest"
  /// Playlist of another server.
  case hlsPlaylist = "HLS/HLSPlaylistDocument"
  /// Streams of HLS of another process.
  case hlsSuspendedStreams = "HLS/HLSSuspendedStreams+Parsing"
  /// Value of a `Range` header.
  case byteRange = "HTTPServer/ByteRange"
  /// Target of an HTTP request.
  case httpTarget = "HTTPServer/HTTPTarget"
  /// Path of the server at a reverse proxy.
  case forwardedPrefix = "HTTPServer/HTTPTarget+Root"
  /// Header of an MP4 box.
  case mp4BoxHeader = "Containers/MP4Box"
  /// `moof` box.
  case movieFragment = "Containers/MovieFragment"
  /// `mvhd`, `tkhd` or `mdhd` box.
  case movieHeader = "Containers/MovieHeader"
  /// `trak` box.
  case movieTrack = "Containers/MovieTrack"
  /// `moov` box of a fragmented file.
  case progressiveMP4 = "Containers/ProgressiveMP4"
  /// `trex` box.
  case trackExtends = "Containers/TrackExtends"
  /// `traf` box.
  case trackFragment = "Containers/TrackFragment+Parsing"
  /// Copy of the boxes before the first fragment.
  case headCopy = "Containers/HeadCopy"
  /// Mark of the stream that a file is of.
  case recordingIdentity = "Recording/RecordingIdentity"
  /// Header of a PNG or JPEG file.
  case imageHeader = "Codecs/ImageHeader"
  /// Image of a mask or an overlay.
  case overlayImage = "Effects/OverlayImage"
  /// RTCP packets of a datagram.
  case rtcpCompoundPacket = "RTP/RTCPCompoundPacket"
  /// Extended report (XR).
  case rtcpExtendedReport = "RTP/RTCPExtendedReport"
  /// Feedback (RTPFB and PSFB).
  case rtcpFeedback = "RTP/RTCPFeedback"
  /// Arrival times by transport-wide numbers.
  case rtcpTransportWideFeedback = "RTP/RTCPTransportWideFeedback"
  /// Goodbye (BYE).
  case rtcpGoodbye = "RTP/RTCPGoodbye"
  /// RTCP packet of any type.
  case rtcpPacket = "RTP/RTCPPacket"
  /// Receiver report (RR).
  case rtcpReceiverReport = "RTP/RTCPReceiverReport"
  /// Report block of a sender or receiver report.
  case rtcpReportBlock = "RTP/RTCPReportBlock"
  /// Sender report (SR).
  case rtcpSenderReport = "RTP/RTCPSenderReport"
  /// Source description (SDES).
  case rtcpSourceDescription = "RTP/RTCPSourceDescription"
  /// Elements of a header extension.
  case rtpExtensionElements = "RTP/RTPExtensionElements"
  /// Data of an element of a header extension.
  case rtpExtensionValue = "RTP/RTPExtensionValues"
  /// Header of an RTP packet.
  case rtpHeader = "RTP/RTPHeader"
  /// RTP packet.
  case rtpPacket = "RTP/RTPPacket"
  /// Body of an ANNOUNCE request.
  case rtspAnnouncement = "RTSP/RTSPAnnouncement"
  /// Value of a `Transport` header.
  case rtspTransport = "RTSP/RTSPTransport"
  /// URL of an RTSP request.
  case rtspURL = "RTSP/RTSPURL"
  /// Command message.
  case rtmpCommand = "RTMP/RTMPCommand"
  /// Protocol control message.
  case rtmpControlMessage = "RTMP/RTMPControlMessage"
  /// Data message with metadata.
  case rtmpMetadata = "RTMP/RTMPMetadata"
  /// URL of a stream to send or play.
  case rtmpURL = "RTMP/RTMPURL"
  /// Values of AMF 0.
  case amf0Values = "RTMP/AMF0Reader"
  /// Body of an audio tag.
  case flvAudioTag = "Containers/FLVAudioTag"
  /// Header of a tag.
  case flvTagHeader = "Containers/FLVTagHeader"
  /// Body of a video tag.
  case flvVideoTag = "Containers/FLVVideoTag"
  /// Value of `m=`.
  case mediaDescription = "RTP/MediaDescription"
  /// Encoding in `a=rtpmap`.
  case rtpMap = "RTP/RTPMap"
  /// Value of `a=`.
  case sdpAttribute = "RTP/SDPAttribute"
  /// Parameters in `a=fmtp`.
  case sdpFormatParameters = "RTP/SDPFormatParameters"
  /// Session description.
  case sessionDescription = "RTP/SessionDescription"
  /// Header of an ADTS frame.
  case adtsHeader = "Bitstreams/ADTSHeader"
  /// Configuration of AAC.
  case audioSpecificConfig = "Bitstreams/AudioSpecificConfig"
  /// NAL units with lengths.
  case avccNALUnits = "Bitstreams/AVCCNALUnits"
  /// Content of an `avcC` box.
  case avcDecoderConfiguration = "Bitstreams/AVCDecoderConfiguration"
  /// Access unit of NAL units with start codes, or with lengths.
  case h264AccessUnit = "Bitstreams/H264AccessUnit"
  /// Picture parameter set.
  case h264PictureParameterSet = "Bitstreams/H264PictureParameterSet"
  /// Sequence parameter set.
  case h264SequenceParameterSet = "Bitstreams/H264SequenceParameterSet"
  /// Sequence parameter set of HEVC.
  case h265SequenceParameterSet = "Bitstreams/H265SequenceParameterSet"
  /// Configuration of AAC in LATM.
  case streamMuxConfig = "Bitstreams/StreamMuxConfig"
  /// User and password on the command line.
  case credentials = "Authentication/Credentials"
  /// Specification of a camera.
  case cameraSpecification = "Capture/CameraSpecification"
  /// Specification of a microphone.
  case microphoneSpecification = "Capture/MicrophoneSpecification"
  /// Specification of a screen.
  case screenSpecification = "Capture/ScreenSpecification"
  /// Frame rate, as a fraction or decimal number.
  case frameRate = "Media/FrameRate"
  /// URL of a network source.
  case networkSpecification = "MediaInput/NetworkSpecification"
  /// Specifications of video and audio.
  case sourceSpecification = "StreamControl/SourceSpecification"
  /// Value of `profile-level-id`.
  case h264ProfileLevel = "WebRTC/H264ProfileLevel"
  /// Value of `a=candidate`.
  case iceCandidate = "WebRTC/ICECandidate"
  /// Fragment of trickle ICE.
  case trickleFragment = "WebRTC/TrickleFragment"
  /// URL of a WHIP server.
  case whipURL = "WebRTC/WHIPURL"
  /// Session description of an offer.
  case webRTCOffer = "WebRTC/WebRTCOffer"
  /// Value of `a=fingerprint`.
  case certificateFingerprint = "WebRTC/CertificateFingerprint"
  /// Type and value of a STUN attribute.
  case stunAttribute = "WebRTC/STUNAttribute"
  /// STUN message.
  case stunMessage = "WebRTC/STUNMessage"
  /// Operators of a TensorFlow Lite model.
  case tfliteOperator = "Inference/TFLiteModel+Operators"
  /// TensorFlow Lite model.
  case tfliteModel = "Inference/TFLiteModel+Parsing"
  /// Program map section.
  case programMap = "Containers/ProgramMap"
  /// First frame of a media segment of another server.
  case segmentStart = "Containers/SegmentStart"
  /// Section of a program table.
  case programSection = "Containers/ProgramSection"
  /// YUV4MPEG2 header line.
  case y4mHeader = "MediaInput/Y4MHeader"

  /// The body, and with it the fuzz target, that runs the parser.
  package var body: FuzzBody {
    switch self {
    case .authorization, .authority, .ipAddress, .origin, .passwordHash, .userFile: .access
    case .httpAddress, .localResponse, .serverAddress, .streamOptions: .configuration
    case .x11Setup: .deviceReply
    case .cameraAccessUnit: .packet
    case .jsonValue: .control
    case .h264PacketContent, .vp8PayloadDescriptor, .vp8FrameHeader, .opusPacketHeader: .h264Depacketizer
    case .hlsDirectives, .hlsPlaylist, .hlsSuspendedStreams: .hls
    case .byteRange, .forwardedPrefix, .httpTarget: .http
    case .mp4BoxHeader, .movieFragment, .movieHeader, .movieTrack, .progressiveMP4, .trackExtends, .trackFragment: .mp4
    case .headCopy, .recordingIdentity: .recording
    case .imageHeader, .overlayImage: .png
    case .rtcpCompoundPacket, .rtcpExtendedReport, .rtcpFeedback, .rtcpTransportWideFeedback, .rtcpGoodbye, .rtcpPacket,
      .rtcpReceiverReport, .rtcpReportBlock, .rtcpSenderReport, .rtcpSourceDescription:
      .rtcp
    case .rtpExtensionElements, .rtpExtensionValue, .rtpHeader, .rtpPacket: .rtp
    case .rtspAnnouncement, .rtspTransport, .rtspURL: .rtsp
    case .rtmpCommand, .rtmpControlMessage, .rtmpMetadata, .rtmpURL: .rtmp
    case .amf0Values: .amf
    case .flvAudioTag, .flvTagHeader, .flvVideoTag: .flv
    case .mediaDescription, .rtpMap, .sdpAttribute, .sdpFormatParameters, .sessionDescription: .sdp
    case .adtsHeader, .audioSpecificConfig, .avccNALUnits, .avcDecoderConfiguration, .h264AccessUnit,
      .h264PictureParameterSet, .h264SequenceParameterSet, .h265SequenceParameterSet, .streamMuxConfig:
      .bitstreams
    case .credentials, .cameraSpecification, .microphoneSpecification, .screenSpecification, .frameRate,
      .networkSpecification, .sourceSpecification:
      .specification
    case .h264ProfileLevel, .iceCandidate, .trickleFragment, .whipURL, .webRTCOffer: .offer
    case .certificateFingerprint: .srtp
    case .stunAttribute, .stunMessage: .stun
    case .tfliteOperator, .tfliteModel: .tflite
    case .programMap, .programSection, .segmentStart: .transportStream
    case .y4mHeader: .y4m
    }
  }

  /// Whether the body itself parses its whole input: a second time takes debug builds too long.
  var isCalledByBody: Bool { self == .trickleFragment || self == .webRTCOffer }

  /// Whether no input is refused: any text is an attribute, or a list of parameters.
  package var refusesNothing: Bool { self == .sdpAttribute || self == .sdpFormatParameters }
}
