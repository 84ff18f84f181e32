internal import Media
internal import NIOCore
internal import RTP
internal import RTSP

/// Reports of viewers over UDP.
extension RTSPConnectionHandler {
  /// Processes a datagram from one of the client's ports: it shows that the client is there, and may report losses.
  func receive(_ datagram: ByteBuffer) {
    self.session.handleActivity(now: self.now)
    // Packets that open a port in a firewall are no RTCP, and report nothing.
    guard let playback, let video = playback.broadcaster.senderStates.video,
      let packets = try? RTCPCompoundPacket(parsing: datagram).packets
    else { return }
    for case .receiverReport(let report) in packets {
      for block in report.reportBlocks where block.ssrc == video.ssrc {
        playback.viewer.handleReport(fractionLost: block.fractionLost, at: self.now)
      }
    }
  }
}
