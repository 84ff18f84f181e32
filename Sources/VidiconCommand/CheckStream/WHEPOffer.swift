import Media
import NIOCore
import RTP
import WebRTC

/// Offer of a browser that receives video and audio, RFC 8829, for a check that opens a session by it and receives no media.
enum WHEPOffer {
  private static let video: [(payloadType: Int, encoding: String, parameters: String?)] = [
    (96, "H264/90000", "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f"),
    (97, "H264/90000", "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=4d001f"),
    (98, "H264/90000", "level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=64001f"),
    (99, "VP8/90000", nil),
  ]
  private static let audio: [(payloadType: Int, encoding: String, parameters: String?)] = [
    (111, "opus/48000/2", "minptime=10;useinbandfec=1")
  ]

  /// The offer as text, `application/sdp`.
  ///
  /// - Parameters:
  ///   - fingerprint: Fingerprint of no certificate: DTLS does not begin.
  ///   - sessionID: Random number.
  static func text(
    credentials: ICECredentials, fingerprint: CertificateFingerprint, sessionID: UInt64
  ) -> ByteBuffer {
    var description = SessionDescription(name: "-", sessionID: sessionID, address: "0.0.0.0")
    description.connection = nil
    description.attributes = [SDPAttribute("group", "BUNDLE 0 1"), SDPAttribute("ice-options", "trickle")]
    for (mid, kind, formats) in [("0", "video", Self.video), ("1", "audio", Self.audio)] {
      var media = MediaDescription(
        media: kind, port: 9, transport: "UDP/TLS/RTP/SAVPF", formats: formats.map { "\($0.payloadType)" })
      media.connection = "IN IP4 0.0.0.0"
      media.attributes = [
        SDPAttribute("mid", mid), SDPAttribute("ice-ufrag", credentials.usernameFragment),
        SDPAttribute("ice-pwd", credentials.password), SDPAttribute("fingerprint", fingerprint.description),
        SDPAttribute("setup", "actpass"), SDPAttribute("recvonly"), SDPAttribute("rtcp-mux"),
        SDPAttribute("rtcp-rsize"),
      ]
      for format in formats {
        media.attributes.append(SDPAttribute("rtpmap", "\(format.payloadType) \(format.encoding)"))
        if let parameters = format.parameters {
          media.attributes.append(SDPAttribute("fmtp", "\(format.payloadType) \(parameters)"))
        }
        if kind == "video" {
          for feedback in ["nack", "nack pli"] {
            media.attributes.append(SDPAttribute("rtcp-fb", "\(format.payloadType) \(feedback)"))
          }
        }
      }
      description.media.append(media)
    }
    var text = ByteBuffer()
    description.serialize(into: &text)
    return text
  }
}
