internal import Media
internal import NIOCore
internal import RTP
internal import Streaming
internal import Synchronization
internal import Threading

/// A stream's RTP side: packs each sample once, and hands the packets to the viewers on every event loop.
///
/// All viewers get the same packets, with the same SSRC and sequence numbers, as if it were multicast. While nobody
/// watches, nothing is packed.
final class RTPBroadcaster: StreamOutput {
  let stream: LiveStream
  let counters = ViewerCounters()
  private let groups: [ViewerGroup]
  private let onChange: @Sendable (LiveStream) -> Void
  private let onEnd: @Sendable (LiveStream) -> Void
  // Held while packets are made and handed on, so that every event loop gets them in the order of their positions.
  private let tracks: Mutex<RTPTracks>

  init(
    stream: LiveStream, eventLoops: [any EventLoop], sockets: @escaping @Sendable () -> DatagramSockets?,
    onChange: @escaping @Sendable (LiveStream) -> Void, onEnd: @escaping @Sendable (LiveStream) -> Void
  ) {
    let counters = self.counters
    self.stream = stream
    self.onChange = onChange
    self.onEnd = onEnd
    self.tracks = Mutex(RTPTracks(stream.descriptions))
    self.groups = eventLoops.map { ViewerGroup(eventLoop: $0, counters: counters, sockets: sockets) }
  }

  /// The numbering of each track.
  var sequences: PerTrack<RTPSenderState> {
    self.tracks.withLock { $0.sequences }
  }

  func consume(_ sample: EncodedSample) {
    guard self.groups.contains(where: \.hasViewers) else { return }
    self.tracks.withLock { tracks in
      let positions = tracks.positions(at: sample.presentationTime)
      for batch in tracks.packetize(sample) {
        let delivery = Delivery(kind: sample.kind, batch: batch, positions: positions)
        for group in self.groups where group.hasViewers {
          group.eventLoop.execute { group.deliver(delivery) }
        }
      }
    }
  }

  func descriptionChanged(to description: CodecDescription) {
    self.tracks.withLock { $0.change(to: description) }
    self.onChange(self.stream)
  }

  func streamEnded() {
    let goodbyes = self.reports(isLast: true)
    for group in self.groups where group.hasViewers {
      group.eventLoop.execute { group.endStream(goodbyes) }
    }
    self.onEnd(self.stream)
  }

  /// Adds a viewer on its event loop. One that wants video starts at the next keyframe, which is asked for; one that
  /// wants sound only starts with the next packet.
  func join(_ viewer: RTPViewer, on eventLoop: any EventLoop) {
    self.group(on: eventLoop).add(viewer)
    if viewer.transports.video != nil { self.stream.requestKeyframe() }
  }

  /// Removes a viewer on its event loop; without effect when it is not there.
  func leave(_ viewer: RTPViewer, on eventLoop: any EventLoop) {
    self.group(on: eventLoop).remove(viewer)
  }

  /// A sender report for each track, of the present.
  func reports(isLast: Bool = false) -> PerTrack<ByteBuffer> {
    let clock = StreamClock.system
    let now = clock.now()
    return self.tracks.withLock { $0.reports(at: now, unixTime: clock.unixTime(at: now), isLast: isLast) }
  }

  /// Sends every viewer the present sender reports.
  func sendReports() {
    guard self.groups.contains(where: \.hasViewers) else { return }
    let reports = self.reports()
    for group in self.groups where group.hasViewers {
      group.eventLoop.execute { group.send(reports) }
    }
  }

  private func group(on eventLoop: any EventLoop) -> ViewerGroup {
    // No trap: viewers' connections are on the event loops that the server was made with.
    self.groups.first { $0.eventLoop === eventLoop }!
  }
}
