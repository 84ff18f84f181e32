internal import Authentication
package import Media
internal import NIOCore
internal import RTP
internal import RTSP
package import Serving
package import Streaming
internal import Synchronization
internal import Threading

/// The RTP output of a rendition: packetizes each sample once and fans the packets out to the
/// viewers of every event loop.
///
/// All viewers get the same packets, with the same SSRC and sequence numbers, as with multicast. Without viewers no sample
/// is packetized.
package final class RTPOutput: ServedOutput {
  package let rendition: Rendition
  let counters: ViewerCounters
  let broadcast: Broadcast<RTPStreamPacketizer, RTPSender>
  /// Wall-clock time at zero of the streams' clock, in nanoseconds since 1970, read once: players add differences of the
  /// sender reports' times to timestamps, so that these would jump with the machine's clock.
  private let unixTimeAtZero: Int64
  /// ``description`` for the parameter sets of now; nil before it is read.
  private let currentDescription = Mutex<RTSPStreamDescription?>(nil)
  private let onEnd: @Sendable (RTPOutput) -> Void

  init(
    _ rendition: Rendition, descriptions: [CodecDescription],
    eventLoops: [any EventLoop], sockets: @escaping @Sendable () -> DatagramSockets?, refusals: RefusalCounters,
    onEnd: @escaping @Sendable (RTPOutput) -> Void,
    unixTime: (MediaTime) -> Int64 = { StreamClock.system.unixTime(at: $0) }
  ) {
    self.unixTimeAtZero = unixTime(.zero)
    let counters = ViewerCounters(refusals: refusals)
    self.counters = counters
    self.rendition = rendition
    self.onEnd = onEnd
    let frameRate = descriptions.frameRate
    let requestKeyframe: @Sendable () -> Void = { rendition.requestKeyframe() }
    self.broadcast = Broadcast(
      packetizer: RTPStreamPacketizer(descriptions), frameRate: frameRate, eventLoops: eventLoops, counters: counters,
      keepsKeyframeGroup: true,
      makeSender: {
        RTPSender(
          eventLoop: $0, frameRate: frameRate, counters: counters, sockets: sockets, requestKeyframe: requestKeyframe)
      }, requestKeyframe: requestKeyframe)
  }

  /// Counters of the stream's viewers, and the maximum lag of the event loops.
  package var statistics: ViewerStatistics {
    var statistics = self.broadcast.statistics
    statistics.datagramsDropped = self.counters.datagramsDropped.load(ordering: .relaxed)
    return statistics
  }

  /// SSRC, sequence number and clock of each track.
  var senderStates: PerTrack<RTPSenderState> {
    self.broadcast.withPacketizer { $0.senderStates }
  }

  /// The codec of each track, video first.
  var descriptions: [CodecDescription] {
    self.broadcast.withPacketizer { $0.descriptions }
  }

  /// Name, session description and tracks.
  var description: RTSPStreamDescription {
    self.currentDescription.withLock { current in
      if let current { return current }
      let description = RTSPStreamDescription(of: self)
      current = description
      return description
    }
  }

  package var hasConsumers: Bool { self.broadcast.hasViewers }

  package func consume(_ sample: EncodedSample) {
    self.broadcast.consume(sample)
  }

  package func descriptionChanged(to description: CodecDescription) {
    self.broadcast.change { $0.change(to: description) }
    self.currentDescription.withLock { $0 = nil }
  }

  /// Drops video packets that wait for an event loop, and disconnects viewers whose connections have data to send: it
  /// cannot be taken out.
  package func discardEarlier() {
    self.broadcast.discardEarlier { group in
      group.sender.discardVideo()
      for viewer in group.viewers { viewer.discardEarlier() }
    }
  }

  package func streamEnded() {
    self.broadcast.flush()
    let goodbyes = self.reports(isLast: true)
    self.broadcast.forEachGroup { group in
      for viewer in group.viewers { viewer.endStream(goodbyes) }
    }
    self.onEnd(self)
  }

  /// Adds a viewer; called on its event loop. A viewer with video starts at the next keyframe, which is requested, or at the
  /// last one; a viewer with audio only starts at the next packet.
  ///
  /// - Parameter startsCached: Whether a viewer with video is sent everything since the last keyframe at once.
  func join(_ viewer: RTPViewer, on eventLoop: any EventLoop, startsCached: Bool) {
    let group = self.broadcast.group(on: eventLoop)
    if group.add(viewer) { self.rendition.beginUse() }
    guard viewer.transports.video != nil else { return }
    if startsCached, let deliveries = self.broadcast.deliveriesSinceKeyframe() {
      group.sender.start(viewer, with: deliveries)
    } else {
      self.rendition.requestKeyframe()
    }
  }

  /// Removes a viewer; called on its event loop, without effect when it was not added.
  func leave(_ viewer: RTPViewer, on eventLoop: any EventLoop) {
    if self.broadcast.group(on: eventLoop).remove(viewer) { self.rendition.endUse() }
  }

  /// A sender report for each track at the current time, RFC 3550 §6.4.1. All reports map the streams' clock to wall-clock
  /// time in the same way.
  func reports(isLast: Bool = false) -> PerTrack<ByteBuffer> {
    let now = StreamClock.system.now()
    let unixTime = self.unixTimeAtZero &+ now.nanoseconds
    return self.broadcast.withPacketizer { $0.reports(at: now, unixTime: unixTime, isLast: isLast) }
  }

  /// Sends current sender reports to every viewer that plays.
  func sendReports() {
    guard self.broadcast.hasViewers else { return }
    let reports = self.reports()
    self.broadcast.forEachGroup { group in
      for viewer in group.viewers { viewer.send(reports) }
    }
  }
}
