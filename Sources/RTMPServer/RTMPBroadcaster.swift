internal import Authentication
package import Media
internal import NIOCore
package import Serving
package import Streaming

/// The published streams of a server of RTMP.
typealias RTMPDirectory = OutputDirectory<RTMPBroadcaster>

extension RTMPDirectory {
  /// A directory without streams.
  static func rtmp(eventLoops: [any EventLoop], refusals: RefusalCounters) -> RTMPDirectory {
    RTMPDirectory(eventLoops: eventLoops, refusals: refusals) { directory, rendition, descriptions in
      RTMPBroadcaster(
        rendition, descriptions: descriptions, eventLoops: directory.eventLoops, refusals: directory.refusals,
        onEnd: directory.onEnd)
    }
  }
}

/// The RTMP output of a rendition: serializes each sample once and fans the chunks out to the
/// viewers of every event loop.
package final class RTMPBroadcaster: ServedOutput {
  package let rendition: Rendition
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

  /// Whether there is a video track.
  var hasVideo: Bool { self.broadcast.withPacketizer { $0.hasVideo } }

  /// Counters of the stream's viewers, and the maximum lag of the event loops.
  package var statistics: ViewerStatistics { self.broadcast.statistics }

  package var hasConsumers: Bool { self.broadcast.hasViewers }

  package func consume(_ sample: EncodedSample) {
    self.broadcast.consume(sample)
  }

  package func descriptionChanged(to description: CodecDescription) {
    self.broadcast.change { $0.change(to: description) }
  }

  /// Drops video that waits for an event loop, and disconnects viewers whose connections have data to send: it cannot be
  /// taken out.
  package func discardEarlier() {
    self.broadcast.discardEarlier { group in
      for viewer in group.viewers { viewer.discardEarlier() }
    }
  }

  package func streamEnded() {
    self.broadcast.flush()
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
