internal import Authentication
internal import Delivery
internal import Media
internal import NIOCore
internal import Streaming

/// The RTMP output of a rendition: serializes each sample once and fans the chunks out to the
/// viewers of every event loop.
final class RTMPBroadcaster: StreamBroadcaster {
  let rendition: Rendition
  let counters: ViewerCounters
  private let broadcast: Broadcast<RTMPTracks, RTMPSender>
  private let onEnd: @Sendable (RTMPBroadcaster) -> Void

  init(
    _ rendition: Rendition, descriptions: [CodecDescription], eventLoops: [any EventLoop],
    refusals: RefusalCounters, onEnd: @escaping @Sendable (RTMPBroadcaster) -> Void
  ) {
    self.counters = ViewerCounters(refusals: refusals)
    self.rendition = rendition
    self.onEnd = onEnd
    let frameRate = descriptions.lazy.compactMap { description in
      if case .h264(let video) = description { video.frameRate } else { nil }
    }.first
    self.broadcast = Broadcast(
      packetizer: RTMPTracks(descriptions), frameRate: frameRate, eventLoops: eventLoops, counters: self.counters,
      keepsKeyframeGroup: false, makeSender: { _ in RTMPSender() },
      requestKeyframe: { rendition.requestKeyframe() })
  }

  /// The path in its addresses.
  var name: String { self.rendition.qualifiedName }

  /// Whether there is a video track.
  var hasVideo: Bool { self.broadcast.withPacketizer { $0.hasVideo } }

  /// Counters of the stream's viewers, and the maximum lag of the event loops.
  var statistics: DeliveryStatistics { self.broadcast.statistics }

  var hasConsumers: Bool { self.broadcast.hasViewers }

  func consume(_ sample: EncodedSample) {
    self.broadcast.consume(sample)
  }

  func descriptionChanged(to description: CodecDescription) {
    self.broadcast.change { $0.change(to: description) }
  }

  /// Drops video that waits for an event loop, and disconnects viewers whose connections have data to send: it cannot be
  /// taken out.
  func discardEarlier() {
    self.broadcast.discardEarlier { group in
      for viewer in group.viewers { viewer.discardEarlier() }
    }
  }

  func streamEnded() {
    self.broadcast.flush()
    self.broadcast.forEachGroup { group in
      for viewer in group.viewers { viewer.endStream() }
    }
    self.onEnd(self)
  }

  /// Adds a viewer; called on its event loop. It starts at the next keyframe, which is requested, or without video at the next
  /// audio frame.
  func join(_ viewer: RTMPViewer, on eventLoop: any EventLoop) {
    if self.broadcast.group(on: eventLoop).add(viewer) { self.rendition.beginUse() }
    self.rendition.requestKeyframe()
  }

  /// Removes a viewer; called on its event loop, without effect when it was not added.
  func leave(_ viewer: RTMPViewer, on eventLoop: any EventLoop) {
    if self.broadcast.group(on: eventLoop).remove(viewer) { self.rendition.endUse() }
  }
}
