internal import Foundation
internal import NIOCore
package import WebRTC

/// Offers to receive video and audio, as the clients made them on Debian 12 in November 2026; see `Tests/Captures`.
package enum WebRTCOffers {
  /// | name | made by |
  /// |------|---------|
  /// | chromium | Chromium 156: two transceivers `recvonly`, `createOffer` |
  /// | chromium-data | the same with `createDataChannel` |
  /// | firefox | Firefox ESR 153: two transceivers `recvonly`; it has no H.264 as packaged |
  /// | aiortc | aiortc 1.16: two transceivers `recvonly`, with candidates |
  /// | gstreamer | `webrtcbin` of GStreamer 1.22 with `bundle-policy=max-bundle`: two transceivers `recvonly` |
  package static let names = ["chromium", "chromium-data", "firefox", "aiortc", "gstreamer"]

  package static func text(_ name: String) throws -> String {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    return try String(contentsOf: root.appending(path: "Captures/webrtc-offer-\(name).sdp"), encoding: .utf8)
  }

  package static func offer(_ name: String) throws -> WebRTCOffer {
    try WebRTCOffer(parsing: ByteBuffer(string: Self.text(name)))
  }
}
