internal import NIOCore
package import WebRTC

/// Offers to send video and audio. That of `obs` was made by libdatachannel, with which OBS makes its own; the others are written by
/// hand and modelled on those of publishers: lines that matter to an answer, with fixed values. Offers to receive are in
/// ``WebRTCOffers``.
///
/// | name | modelled on | what is particular |
/// |------|-----------|--------------------|
/// | chromium | Chromium: two `addTransceiver(track, {direction: 'sendonly'})` | H.264 behind VP8 and VP9, video-orientation |
/// | firefox | Firefox ESR without H.264 | VP8 only, extensions with direction |
/// | safari | Safari: `addTrack` | `sendrecv`, High before Constrained Baseline, audio with transport-cc |
/// | obs | OBS 30 and later (libdatachannel) | audio first, fingerprint of the session, candidates once, `group:LS`, no RTX or extensions |
/// | gstreamer | `whipclientsink` (`webrtcbin`) | no `level-asymmetry-allowed` |
/// | ffmpeg | FFmpeg with `-f whip` and DTLS active | no feedback at all, audio first |
package enum PublishOffers {
  package static let names = ["chromium", "firefox", "safari", "obs", "gstreamer", "ffmpeg"]

  package static func offer(_ name: String) throws -> WebRTCOffer {
    try WebRTCOffer(parsing: ByteBuffer(string: Self.lines(name).joined(separator: "\r\n") + "\r\n"))
  }

  package static let fingerprint =
    "a=fingerprint:sha-256 " + Array(repeating: "CD", count: 32).joined(separator: ":")
  /// ICE password of all offers.
  package static let password = "client0password0client"
  private static let ice = ["a=ice-ufrag:clnt", "a=ice-pwd:\(password)"]
  private static let transportCC = "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01"

  /// Made in November 2026 by libdatachannel-py 2025.1.0.dev19 with the calls of `WHIPOutput::Setup` of OBS: a track "0" with
  /// `addOpusCodec(111)` and a track "1" with `addH264Codec(96)`, both `SendOnly` with SSRC, cname and msid, then
  /// `setLocalDescription` and `localDescription`. Random values are replaced by those of all offers. Empty where the file cannot be
  /// read, which is no offer.
  private static let libdatachannel: [String] = {
    let lines = (try? WebRTCOffers.text("libdatachannel").split(separator: "\r\n").map(String.init)) ?? []
    return lines.map { line in
      if line.hasPrefix("a=ice-ufrag:") { return Self.ice[0] }
      if line.hasPrefix("a=ice-pwd:") { return Self.ice[1] }
      if line.hasPrefix("a=fingerprint:") { return Self.fingerprint }
      return line.replacing(":2166136261 ", with: ":13 ").replacing(":2166136262 ", with: ":11 ")
    }
  }()

  private static func feedback(_ payloadType: Int) -> [String] {
    ["goog-remb", "transport-cc", "ccm fir", "nack", "nack pli"].map { "a=rtcp-fb:\(payloadType) \($0)" }
  }

  private static func h264(_ payloadType: Int, _ profile: String, mode: Int = 1, rtx: Int? = nil) -> [String] {
    [
      "a=rtpmap:\(payloadType) H264/90000",
      "a=fmtp:\(payloadType) level-asymmetry-allowed=1;packetization-mode=\(mode);profile-level-id=\(profile)",
    ] + Self.feedback(payloadType)
      + (rtx.map { ["a=rtpmap:\($0) rtx/90000", "a=fmtp:\($0) apt=\(payloadType)"] } ?? [])
  }

  private static func vpx(_ payloadType: Int, _ name: String, rtx: Int) -> [String] {
    ["a=rtpmap:\(payloadType) \(name)/90000"] + Self.feedback(payloadType)
      + ["a=rtpmap:\(rtx) rtx/90000", "a=fmtp:\(rtx) apt=\(payloadType)"]
  }

  package static func lines(_ name: String) -> [String] {
    let start = ["v=0", "o=- 4611731400430051336 2 IN IP4 127.0.0.1", "s=-", "t=0 0", "a=group:BUNDLE 0 1"]
    let transport = Self.ice + ["a=ice-options:trickle", Self.fingerprint, "a=setup:actpass"]
    switch name {
    case "chromium":
      return start + ["a=extmap-allow-mixed", "a=msid-semantic: WMS"] + [
        "m=video 9 UDP/TLS/RTP/SAVPF 96 97 98 99 103 104 107 108 109 114 35 36", "c=IN IP4 0.0.0.0",
        "a=rtcp:9 IN IP4 0.0.0.0",
      ] + transport + [
        "a=mid:0", "a=extmap:1 urn:ietf:params:rtp-hdrext:toffset",
        "a=extmap:2 http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time",
        "a=extmap:3 urn:3gpp:video-orientation", "a=extmap:4 \(Self.transportCC)",
        "a=extmap:5 http://www.webrtc.org/experiments/rtp-hdrext/playout-delay",
        "a=extmap:9 urn:ietf:params:rtp-hdrext:sdes:mid",
        "a=extmap:10 urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id", "a=sendonly", "a=msid:- camera", "a=rtcp-mux",
        "a=rtcp-rsize",
      ] + Self.vpx(96, "VP8", rtx: 97) + Self.vpx(98, "VP9", rtx: 99) + Self.h264(103, "42001f", rtx: 104)
        + Self.h264(107, "42e01f", rtx: 108) + Self.h264(109, "42e01f", mode: 0, rtx: 114)
        + ["a=rtpmap:35 AV1/90000", "a=rtpmap:36 rtx/90000", "a=fmtp:36 apt=35"]
        + [
          "a=ssrc-group:FID 11 12", "a=ssrc:11 cname:c", "a=ssrc:12 cname:c",
          "m=audio 9 UDP/TLS/RTP/SAVPF 111 63 9 0 8 13 110 126", "c=IN IP4 0.0.0.0",
        ] + transport + [
          "a=mid:1", "a=extmap:14 urn:ietf:params:rtp-hdrext:ssrc-audio-level",
          "a=extmap:2 http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time", "a=extmap:4 \(Self.transportCC)",
          "a=extmap:9 urn:ietf:params:rtp-hdrext:sdes:mid", "a=sendonly", "a=msid:- microphone", "a=rtcp-mux",
          "a=rtcp-rsize", "a=rtpmap:111 opus/48000/2", "a=rtcp-fb:111 transport-cc",
          "a=fmtp:111 minptime=10;useinbandfec=1", "a=rtpmap:63 red/48000/2", "a=fmtp:63 111/111",
          "a=rtpmap:9 G722/8000", "a=rtpmap:110 telephone-event/48000",
        ]
    case "firefox":
      return start + [Self.fingerprint, "a=ice-options:trickle", "a=msid-semantic:WMS *"] + [
        "m=video 9 UDP/TLS/RTP/SAVPF 120 124 121 125 123 122 119", "c=IN IP4 0.0.0.0", "a=sendonly",
        "a=extmap:3 urn:ietf:params:rtp-hdrext:sdes:mid",
        "a=extmap:4 http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time",
        "a=extmap:6/recvonly http://www.webrtc.org/experiments/rtp-hdrext/playout-delay",
        "a=extmap:7 \(Self.transportCC)", "a=extmap-allow-mixed", "a=fmtp:120 max-fs=12288;max-fr=60",
      ] + Self.ice + ["a=mid:0", "a=msid:{stream} {track}", "a=rtcp-mux", "a=rtcp-rsize", "a=setup:actpass"]
        + Self.vpx(120, "VP8", rtx: 124) + Self.vpx(121, "VP9", rtx: 125)
        + ["a=rtpmap:123 ulpfec/90000", "a=rtpmap:122 red/90000", "a=rtpmap:119 rtx/90000", "a=fmtp:119 apt=122"]
        + ["m=audio 9 UDP/TLS/RTP/SAVPF 109 9 0 8 101", "c=IN IP4 0.0.0.0", "a=sendonly"] + Self.ice + [
          "a=mid:1", "a=rtcp-mux", "a=setup:actpass", "a=extmap:3 urn:ietf:params:rtp-hdrext:sdes:mid",
          "a=extmap:7 \(Self.transportCC)", "a=rtpmap:109 opus/48000/2", "a=rtcp-fb:109 transport-cc",
          "a=fmtp:109 maxplaybackrate=48000;stereo=1;useinbandfec=1", "a=rtpmap:9 G722/8000/1",
        ]
    case "safari":
      return start + [
        "m=video 9 UDP/TLS/RTP/SAVPF 96 97 98 99 100 101", "c=IN IP4 0.0.0.0",
      ] + transport + [
        "a=mid:0", "a=extmap:3 urn:3gpp:video-orientation", "a=extmap:4 \(Self.transportCC)",
        "a=extmap:9 urn:ietf:params:rtp-hdrext:sdes:mid", "a=sendrecv", "a=rtcp-mux", "a=rtcp-rsize",
      ] + Self.h264(96, "640c1f", rtx: 97) + Self.h264(98, "42e01f", rtx: 99) + Self.vpx(100, "VP8", rtx: 101)
        + ["m=audio 9 UDP/TLS/RTP/SAVPF 111 9", "c=IN IP4 0.0.0.0"] + transport + [
          "a=mid:1", "a=extmap:4 \(Self.transportCC)", "a=sendrecv", "a=rtcp-mux", "a=rtpmap:111 opus/48000/2",
          "a=rtcp-fb:111 transport-cc", "a=fmtp:111 minptime=10;useinbandfec=1",
        ]
    case "obs": return Self.libdatachannel
    case "gstreamer":
      return start + ["a=ice-options:trickle", "m=video 9 UDP/TLS/RTP/SAVPF 96 97", "c=IN IP4 0.0.0.0"] + transport + [
        "a=rtcp-mux", "a=rtcp-rsize", "a=sendonly", "a=rtpmap:96 H264/90000", "a=rtcp-fb:96 nack",
        "a=rtcp-fb:96 nack pli", "a=rtcp-fb:96 ccm fir", "a=rtcp-fb:96 transport-cc", "a=framerate:30",
        "a=fmtp:96 packetization-mode=1;profile-level-id=42c01f;sprop-parameter-sets=Z0LAH9k=,aMuD",
        "a=rtpmap:97 rtx/90000", "a=fmtp:97 apt=96", "a=extmap:1 \(Self.transportCC)", "a=ssrc:11 cname:c", "a=mid:0",
        "m=audio 9 UDP/TLS/RTP/SAVPF 111", "c=IN IP4 0.0.0.0",
      ] + transport + [
        "a=bundle-only", "a=rtcp-mux", "a=sendonly", "a=rtpmap:111 OPUS/48000/2", "a=rtcp-fb:111 transport-cc",
        "a=fmtp:111 sprop-stereo=1;sprop-maxcapturerate=48000", "a=mid:1",
      ]
    default:
      let own = Self.ice + [Self.fingerprint, "a=setup:passive"]
      return start + ["a=extmap-allow-mixed", "a=msid-semantic: WMS", "m=audio 9 UDP/TLS/RTP/SAVPF 111"]
        + ["c=IN IP4 0.0.0.0"] + own
        + ["a=mid:0", "a=sendonly", "a=msid:FFmpeg audio", "a=rtcp-mux", "a=rtpmap:111 opus/48000/2"]
        + ["m=video 9 UDP/TLS/RTP/SAVPF 106", "c=IN IP4 0.0.0.0"] + own
        + [
          "a=mid:1", "a=sendonly", "a=msid:FFmpeg video", "a=rtcp-mux", "a=rtcp-rsize", "a=rtpmap:106 H264/90000",
          "a=fmtp:106 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f",
        ]
    }
  }
}
