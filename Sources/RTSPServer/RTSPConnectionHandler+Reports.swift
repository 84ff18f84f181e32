internal import Authentication
internal import Media
internal import NIOCore
internal import RTP
internal import RTSP
internal import Serving

/// Reports of viewers over UDP.
extension RTSPConnectionHandler {
  /// Time after which the reports of a viewer are processed, with those that have arrived meanwhile: none is urgent.
  private static let reportDelay = TimeAmount.milliseconds(20)

  /// The receiver of datagrams of a viewer, which anybody who can forge its address may send: a bounded number waits for the
  /// connection's event loop, which looks at them 50 times a second at most, however many arrive.
  func makeDatagramReceiver(on eventLoop: any EventLoop) -> @Sendable (ByteBuffer) -> Void {
    let handler = NIOLoopBound(self, eventLoop: eventLoop)
    let received = ReceivedDatagrams(maximumByteCount: ReceivedDatagrams.maximumByteCountOfViewer)
    return { payload in
      guard received.append(ReceivedDatagrams.Datagram(payload: payload, arrival: .zero)) else { return }
      handler.eventLoop.scheduleTask(in: Self.reportDelay) {
        handler.value.session.handleActivity(now: handler.value.now)
        for datagram in handler.value.dequeueAll(of: received) { handler.value.handleReports(in: datagram.payload) }
      }
    }
  }

  /// Dequeues the datagrams of a client, and counts those that were dropped.
  func dequeueAll(of received: ReceivedDatagrams) -> [ReceivedDatagrams.Datagram] {
    let (datagrams, droppedCount) = received.removeAll()
    if droppedCount > 0 { self.directory.refusals.count(.datagramDropped, droppedCount) }
    return datagrams
  }

  /// Processes a datagram from one of the client's ports, which may report losses.
  func handleReports(in datagram: ByteBuffer) {
    // Packets that open a port in a firewall are no RTCP, and report nothing.
    guard let playback, let video = playback.output.senderStates.video,
      let packets = try? RTCPCompoundPacket(parsing: datagram).packets
    else { return }
    for case .receiverReport(let report) in packets {
      for block in report.reportBlocks where block.ssrc == video.ssrc {
        playback.viewer.handleReport(fractionLost: block.fractionLost, at: self.now)
      }
    }
  }
}
