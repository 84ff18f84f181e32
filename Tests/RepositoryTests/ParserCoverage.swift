/// The parsers of bytes from outside, and the fuzz target that reaches each.
enum ParserCoverage {
  /// Files of `Sources` that declare an initializer or function with the label `parsing`, as module and file name, by the
  /// fuzz target that reaches them.
  static let files: [String: [String]] = [
    "FuzzAccess": [
      "Authentication/HostPolicy", "Authentication/IPAddress", "Authentication/OriginPolicy",
      "Authentication/PasswordHash", "Authentication/UserFile",
    ],
    "FuzzConfiguration": [
      "VidiconCommand/LocalRequest", "VidiconCommand/ServerAddress", "VidiconCommand/StreamOptions",
    ],
    "FuzzDeviceReply": ["CaptureDevices/X11Setup"],
    "FuzzPacket": ["CaptureDevices/CameraAccessUnits"],
    "FuzzControl": [
      "HTTPServer/JSONValue"
    ],
    "FuzzH264Depacketizer": [
      "RTP/H264PacketContent", "RTP/VP8PayloadDescriptor", "Bitstreams/VP8FrameHeader", "Bitstreams/OpusPacketHeader",
    ],
    "FuzzHLS": [
      "HLS/HLSRequest"
    ],
    "FuzzHTTP": [
      "HTTPServer/ByteRange", "HTTPServer/HTTPTarget",
    ],
    "FuzzMP4": [
      "Containers/MP4Box", "Containers/MovieFragment", "Containers/MovieHeader", "Containers/MovieTrack",
      "Containers/ProgressiveMP4", "Containers/TrackExtends", "Containers/TrackFragment+Parsing",
    ],
    "FuzzRecording": ["Containers/HeadCopy", "Recording/RecordingIdentity"],
    "FuzzPNG": [
      "Codecs/ImageHeader", "Effects/OverlayImage",
    ],
    "FuzzRTCP": [
      "RTP/RTCPCompoundPacket", "RTP/RTCPExtendedReport", "RTP/RTCPFeedback", "RTP/RTCPTransportWideFeedback",
      "RTP/RTCPGoodbye", "RTP/RTCPPacket", "RTP/RTCPReceiverReport", "RTP/RTCPReportBlock",
      "RTP/RTCPSenderReport", "RTP/RTCPSourceDescription",
    ],
    "FuzzRTP": [
      "RTP/RTPExtensionElements", "RTP/RTPExtensionValues", "RTP/RTPHeader", "RTP/RTPPacket",
    ],
    "FuzzRTSP": [
      "Authentication/Authorization", "RTSP/RTSPAnnouncement", "RTSP/RTSPTransport", "RTSP/RTSPURL",
    ],
    "FuzzRTMP": [
      "RTMP/RTMPCommand", "RTMP/RTMPControlMessage", "RTMP/RTMPMetadata", "RTMP/RTMPURL",
    ],
    "FuzzAMF": ["RTMP/AMF0Reader"],
    "FuzzFLV": [
      "Containers/FLVAudioTag", "Containers/FLVTagHeader", "Containers/FLVVideoTag",
    ],
    "FuzzSDP": [
      "RTP/MediaDescription", "RTP/RTPMap", "RTP/SDPAttribute", "RTP/SDPFormatParameters", "RTP/SessionDescription",
    ],
    "FuzzSPS": [
      "Bitstreams/ADTSHeader", "Bitstreams/AudioSpecificConfig", "Bitstreams/AVCCNALUnits",
      "Bitstreams/AVCDecoderConfiguration", "Bitstreams/H264AccessUnit", "Bitstreams/H264PictureParameterSet",
      "Bitstreams/H264SequenceParameterSet", "Bitstreams/StreamMuxConfig",
    ],
    "FuzzSpecification": [
      "Authentication/Credentials", "Capture/CameraSpecification", "Capture/MicrophoneSpecification",
      "Capture/ScreenSpecification", "Media/FrameRate", "MediaInput/NetworkSpecification",
      "StreamControl/SourceSpecification",
    ],
    "FuzzOffer": [
      "WebRTC/H264ProfileLevel", "WebRTC/ICECandidate", "WebRTC/TrickleFragment", "WebRTC/WHIPURL",
      "WebRTC/WebRTCOffer",
    ],
    "FuzzSRTP": ["WebRTC/CertificateFingerprint"],
    "FuzzSTUN": [
      "WebRTC/STUNAttribute", "WebRTC/STUNMessage",
    ],
    "FuzzTFLite": [
      "Inference/TFLiteModel+Operators", "Inference/TFLiteModel+Parsing",
    ],
    "FuzzTransportStream": [
      "Containers/ProgramMap", "Containers/ProgramSection",
    ],
    "FuzzY4M": [
      "MediaInput/Y4MHeader"
    ],
  ]
  /// Files with parsers that have another form: state machines that are fed, and decoders of libraries. Headers of WAV and other
  /// files are none of them: libavformat reads those.
  static let filesOfOtherForm: [String: [String]] = [
    "FuzzAACDepacketizer": ["RTP/AACDepacketizer"],
    "FuzzAMF": ["RTMP/AMF3Reader"],
    "FuzzCamera": ["CaptureDevices/CameraFormatChooser"],
    "FuzzEffects": ["Effects/EffectSettings+JSON"],
    "FuzzH264Depacketizer": ["RTP/H264Depacketizer"],
    "FuzzJPEG": ["Codecs/JPEGDecoder"],
    "FuzzOffer": ["WebRTC/TransportAddress"],
    "FuzzRepair": ["Containers/FragmentScanner", "Containers/MovieScan", "Recording/UnfinishedRecording"],
    "FuzzRTMP": ["RTMP/RTMPChunkReader", "RTMP/RTMPHandshake"],
    "FuzzSession": [
      "WebRTC/BandwidthEstimator", "WebRTC/JitterBuffer", "WebRTC/PublisherClock", "WebRTC/RetransmissionHistory",
      "WebRTC/SealedPacketHistory",
      "WebRTC/TransportWideArrivals", "WebRTC/TransportWideHistory", "WebRTC/WebRTCPublisherSession",
      "WebRTC/WebRTCSession+Reports", "WebRTC/WebRTCTrackReceiver", "WebRTC/WebRTCTransport",
    ],
    "FuzzSTUN": ["WebRTC/FramedDatagrams"],
  ]
}
