internal import Authentication
internal import Media
internal import NIOCore
internal import RTP
internal import Streaming
internal import Synchronization
internal import Threading

/// The RTP output of a stream: packetizes each sample once and fans the packets out to the viewers of every event loop.
///
/// All viewers get the same packets, with the same SSRC and sequence numbers, as with multicast. Without viewers no sample
/// is packetized.
final class RTPBroadcaster: StreamOutput {
  let stream: LiveStream
  let counters: ViewerCounters
  private let groups: [ViewerGroup]
  private let onDescriptionChange: @Sendable (LiveStream) -> Void
  private let onEnd: @Sendable (LiveStream) -> Void
  // Locked while packets are built and enqueued, so that every event loop gets them in the order of their positions.
  private let tracks: Mutex<RTPTracks>
  /// Number of calls of ``discardEarlier()``.
  private let discards = Atomic(0)

  init(
    stream: LiveStream, descriptions: [CodecDescription], eventLoops: [any EventLoop],
    sockets: @escaping @Sendable () -> DatagramSockets?, refusals: RefusalCounters,
    onDescriptionChange: @escaping @Sendable (LiveStream) -> Void, onEnd: @escaping @Sendable (LiveStream) -> Void
  ) {
    let counters = ViewerCounters(refusals: refusals)
    self.counters = counters
    self.stream = stream
    self.onDescriptionChange = onDescriptionChange
    self.onEnd = onEnd
    self.tracks = Mutex(RTPTracks(descriptions))
    self.groups = eventLoops.map { ViewerGroup(eventLoop: $0, counters: counters, sockets: sockets) }
  }

  /// SSRC, sequence number and clock of each track.
  var senderStates: PerTrack<RTPSenderState> {
    self.tracks.withLock { $0.senderStates }
  }

  /// The codec of each track, video first.
  var descriptions: [CodecDescription] {
    self.tracks.withLock { $0.descriptions }
  }

  func consume(_ sample: EncodedSample) {
    guard self.groups.contains(where: \.hasViewers) else { return }
    self.tracks.withLock { tracks in
      let positions = tracks.positions(at: sample.presentationTime)
      let number = self.discards.load(ordering: .acquiring)
      for batch in tracks.packetize(sample) {
        let packets = SharedPackets(kind: sample.kind, batch: batch, positions: positions)
        for group in self.groups where group.hasViewers {
          group.eventLoop.execute {
            // Video that waited for the event loop while privacy was switched on is not sent.
            guard packets.kind == .audio || number == self.discards.load(ordering: .acquiring) else { return }
            group.fanOut(packets)
          }
        }
      }
    }
  }

  func descriptionChanged(to description: CodecDescription) {
    self.tracks.withLock { $0.change(to: description) }
    self.onDescriptionChange(self.stream)
  }

  /// Drops video packets that wait for an event loop, and disconnects viewers whose connections have data to send: it
  /// cannot be taken out.
  func discardEarlier() {
    self.discards.add(1, ordering: .acquiringAndReleasing)
    for group in self.groups where group.hasViewers {
      group.eventLoop.execute { group.discardEarlier() }
    }
  }

  func streamEnded() {
    let goodbyes = self.reports(isLast: true)
    for group in self.groups where group.hasViewers {
      group.eventLoop.execute { group.endStream(goodbyes) }
    }
    self.onEnd(self.stream)
  }

  /// Adds a viewer; called on its event loop. A viewer with video starts at the next keyframe, which is requested; a viewer
  /// with audio only starts at the next packet.
  func join(_ viewer: RTPViewer, on eventLoop: any EventLoop) {
    self.group(on: eventLoop).add(viewer)
    if viewer.transports.video != nil { self.stream.requestKeyframe() }
  }

  /// Removes a viewer; called on its event loop, without effect when it was not added.
  func leave(_ viewer: RTPViewer, on eventLoop: any EventLoop) {
    self.group(on: eventLoop).remove(viewer)
  }

  /// A sender report for each track at the current time, RFC 3550 §6.4.1.
  func reports(isLast: Bool = false) -> PerTrack<ByteBuffer> {
    let clock = StreamClock.system
    let now = clock.now()
    return self.tracks.withLock { $0.reports(at: now, unixTime: clock.unixTime(at: now), isLast: isLast) }
  }

  /// Sends current sender reports to every viewer that plays.
  func sendReports() {
    guard self.groups.contains(where: \.hasViewers) else { return }
    let reports = self.reports()
    for group in self.groups where group.hasViewers {
      group.eventLoop.execute { group.send(reports) }
    }
  }

  private func group(on eventLoop: any EventLoop) -> ViewerGroup {
    // No trap: connections are on the event loops that the server was initialized with.
    self.groups.first { $0.eventLoop === eventLoop }!
  }
}
