import Authentication
internal import Effects
import Media
import MediaInput
import Streaming

extension ServeConfiguration {
  /// The text of a setting that is not given, for display; nil for one that is then without a value.
  func defaultText(of key: Key) -> String? {
    let access = AccessSettings()
    return switch key {
    case .rtspPort: "\(DefaultPort.rtsp)"
    case .httpPort: "\(DefaultPort.http)"
    case .httpsPort: self.receivesWHIP ? "\(DefaultPort.https)" : nil
    case .rtmpPort: self.receivesRTMP ? "\(DefaultPort.rtmp)" : nil
    case .webrtcPort: self.isWebRTCOn ? "\(DefaultPort.webRTC)" : nil
    case .webrtc: "on"
    case .discovery: "true"
    case .rtspUDP, .linkLocal: "false"
    case .embed: "\(access.allowsEmbedding)"
    case .insecureBasic: "\(access.allowsInsecureBasic)"
    case .control: access.control.rawValue
    case .recordingsFor: access.recordings.rawValue
    case .bind, .rtspsPort, .rtmpsPort, .iceAddresses, .iceServers, .tlsCertificate, .tlsKey, .users, .userFile, .files,
      .hosts, .cors, .behindProxy, .pushAuthorities, .streams:
      nil
    }
  }
}

extension StreamOptions {
  /// The text of a setting that is not given, for display; nil for one that is then without a value, or has the source's.
  func defaultText(of key: Key) -> String? {
    let initial = StreamOptions()
    return switch key {
    case .name: initial.name
    case .audio: initial.audio
    case .bitrate: "\(initial.bitrate / 1000)k"
    case .scaling: initial.scaling.rawValue
    case .encoder: initial.encoder
    case .profile, .rendition: "auto"
    case .vbv: "1"
    case .passThrough: initial.passThrough.rawValue
    case .audioBitrate: "\(initial.audioBitrate / 1000)k"
    case .faces: initial.effects.settings.faces.rawValue
    case .maskPart: initial.effects.settings.maskPart.rawValue
    case .smooth: "0"
    case .clock, .overwrite: "false"
    case .recordRendition: initial.recording.rendition
    case .preset, .source, .size, .fps, .whipToken, .push, .pushFile, .privacyMinFace, .mask, .maskAnchors, .overlay,
      .snapshotOn, .record, .recordings, .splitDuration, .splitSize, .keepAge, .keepSize, .keepFree, .title:
      nil
    }
  }
}
