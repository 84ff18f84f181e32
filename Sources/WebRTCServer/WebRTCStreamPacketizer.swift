internal import Codecs
internal import Media
internal import RTP
internal import Serving
internal import WebRTC

/// The tracks of a stream as WebRTC carries them, packetized once for all viewers, or for a push.
struct WebRTCStreamPacketizer: SharedMediaPacketizer {
  private var packetizer: WebRTCPacketizer
  private var audio: AACDescription?
  private var opus = OpusEncoding.off

  /// Whether a viewer listens, or the server of a push takes audio: otherwise it is not encoded.
  var isAudioWanted = false {
    didSet { if !self.isAudioWanted, self.isEncodingAudio { self.opus = .off } }
  }

  /// The encoder of audio, which exists while audio is wanted.
  // Safe because it is used by the thread that holds the tracks.
  private enum OpusEncoding: @unchecked Sendable {
    case off
    case on(OpusTranscoder)
    /// There is no encoder on this machine, or none for this audio.
    case failed
  }

  /// - Parameter mode: Mode 0 is for an encoder of bounded slices.
  init(_ descriptions: [CodecDescription], mode: H264PacketizationMode = .nonInterleaved) {
    self.packetizer = WebRTCPacketizer(descriptions, mode: mode)
    for description in descriptions { if case .aac(let audio) = description { self.audio = audio } }
  }

  /// Whether there is audio that can be sent.
  var hasAudio: Bool {
    if case .failed = self.opus { false } else { self.audio != nil }
  }

  /// Whether the encoder of audio is open.
  var isEncodingAudio: Bool {
    if case .on = self.opus { true } else { false }
  }

  /// Profile and level of the video; nil without.
  var video: H264ProfileLevel? {
    guard let bytes = self.packetizer.videoDescription?.sequenceParameterSet, bytes.count > 3 else { return nil }
    return H264ProfileLevel(profileIDC: bytes[1], constraintFlags: bytes[2], levelIDC: bytes[3])
  }

  mutating func change(to description: CodecDescription) {
    self.packetizer.change(to: description)
    guard case .aac(let audio) = description, audio != self.audio else { return }
    (self.audio, self.opus) = (audio, .off)
  }

  mutating func packets(of sample: EncodedSample) -> [WebRTCMedia] {
    if sample.kind == .video { return self.packetizer.packetize(sample).map { [$0] } ?? [] }
    guard self.isAudioWanted else { return [] }
    if case .off = self.opus, let audio { self.opus = (try? OpusTranscoder(audio)).map(OpusEncoding.on) ?? .failed }
    guard case .on(let transcoder) = self.opus else { return [] }
    var packets: [WebRTCMedia] = []
    transcoder.transcode(sample) { packet in
      if let media = WebRTCPacketizer.packetize(opus: packet) { packets.append(media) }
    }
    return packets
  }
}

extension WebRTCMedia: SharedMedia {
  /// No cache: all viewers share the media itself only.
  package static var emptyCache: Void { () }
}
