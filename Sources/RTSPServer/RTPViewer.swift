internal import CDatagrams
internal import Media
internal import NIOCore
internal import Serving
internal import Synchronization

/// One viewer of a stream, on its connection's event loop: its tracks and transports, and the packets that wait for the
/// connection. Performs what ``ViewerState`` decides.
final class RTPViewer: ConnectedViewer {
  /// The transport of a track's packets.
  enum Transport {
    /// Interleaved channels of the RTSP connection.
    case interleaved(rtp: UInt8, rtcp: UInt8)
    /// UDP destinations of RTP and RTCP.
    case datagrams(DatagramDestinations)
  }

  /// UDP destinations of a track; a class, since the addresses are large and read for every access unit.
  final class DatagramDestinations: Sendable {
    let rtp: vidicon_destination
    let rtcp: vidicon_destination
    /// Index of the socket for RTP, see ``DatagramSockets/route(from:)``.
    let route: Int

    init(rtp: vidicon_destination, rtcp: vidicon_destination, route: Int) {
      self.rtp = rtp
      self.rtcp = rtcp
      self.route = route
    }
  }

  let transports: PerTrack<Transport>
  /// The connection; it references its viewer until it leaves the stream.
  let connection: RTSPConnectionHandler
  let counters: ViewerCounters
  var state: ViewerState
  /// Interleaved channels of RTP packets.
  let channels: InterleavedChannels
  /// Whether a track is sent over UDP.
  let hasDatagrams: Bool
  /// Interleaved packets that wait for the connection, in step with the queue of `state`.
  private var queue: [RTPDelivery] = []
  /// Deliveries since the last keyframe, or behind the first one, that are not sent yet; live deliveries are appended meanwhile.
  private var catchUp = CircularBuffer<RTPDelivery>()
  /// Time from which on the connection is sent `catchUp`.
  private(set) var catchUpStart = MediaTime.zero
  /// Whether `catchUp` is what followed a live keyframe: all of it is sent at ``catchUpStart``, and is as old as live deliveries.
  private var startsLive = false
  private var pacing = KeyframePacing()
  /// Number of the last delivery that is sent already, or is in `catchUp`: earlier ones that come are not sent again.
  private var lastCaughtUp = 0
  /// Time at which the connection is to have taken `catchUp`.
  private var catchUpDeadline = MediaTime.zero

  /// Maximum time in which a connection takes what followed the last keyframe: a group of ten seconds at the rate of the stream.
  static let maximumCatchUpTime = MediaDuration.seconds(10)

  /// Time for which a viewer of both tracks is sent its first access unit alone. Pipelines of GStreamer link a track when its first
  /// packet comes, and lose a link where two tracks begin at once: then they stand still.
  static let trackDistance = MediaDuration.milliseconds(20)

  init(transports: PerTrack<Transport>, connection: RTSPConnectionHandler, counters: ViewerCounters) {
    self.transports = transports
    self.connection = connection
    self.counters = counters
    self.channels = InterleavedChannels(
      video: transports.video?.interleavedChannel, audio: transports.audio?.interleavedChannel)
    self.hasDatagrams = transports.video?.destinations != nil || transports.audio?.destinations != nil
    self.state = ViewerState(
      limits: connection.viewerLimits, startsAtKeyframe: transports.video != nil,
      skipsToKeyframe: transports.video?.interleavedChannel != nil)
  }

  /// Sends the packets of several deliveries at once, where the viewer is due for all of them and its connection has nothing unsent:
  /// the case of most viewers.
  ///
  /// - Parameters:
  ///   - bytes: The contents of `buffer`.
  ///   - buffer: The packets of the deliveries for ``channels``.
  /// - Returns: Whether they are sent; otherwise ``deliver(_:at:datagrams:)`` decides on each delivery.
  func sendTogether(_ bytes: UnsafeRawBufferPointer, of buffer: ByteBuffer, at now: MediaTime) -> Bool {
    guard !self.hasDatagrams, self.lastCaughtUp == 0, self.state.handleTogether(at: now) else { return false }
    return self.connection.sendMedia(bytes, of: buffer)
  }

  /// Sends live packets as ``send(_:at:datagrams:)`` does, behind those that followed the last keyframe.
  func deliver(
    _ deliveries: [RTPDelivery], at now: MediaTime, datagrams: inout [DatagramDestinationLists]
  ) -> Int {
    guard self.lastCaughtUp > 0 else { return self.send(deliveries, at: now, datagrams: &datagrams) }
    let later = deliveries.filter { $0.number > self.lastCaughtUp }
    if self.isCatchingUp, !self.hasDatagrams, now >= self.catchUpDeadline { self.endCatchUp() }
    guard !self.isCatchingUp, now >= self.catchUpStart else {
      self.catchUp.append(contentsOf: later)
      return 0
    }
    if !later.isEmpty { self.lastCaughtUp = 0 }
    return self.send(later, at: now, datagrams: &datagrams)
  }

  /// Sends packets over the connection in one write, or queues or drops them; starts the viewer at its first keyframe.
  ///
  /// - Parameter datagrams: For each delivery, the destinations of what is to be sent over UDP.
  /// - Returns: Number of bytes written to the connection.
  func send(
    _ deliveries: [RTPDelivery], at now: MediaTime, datagrams: inout [DatagramDestinationLists]
  ) -> Int {
    var byteCount = 0
    self.connection.writing {
      for (index, delivery) in deliveries.enumerated() {
        guard self.state.isStarted else {
          let later = deliveries[(index + 1)...].lazy.compactMap(\.audio.first).first
          byteCount += self.start(with: delivery, later: later, at: now, datagrams: &datagrams[index])
          guard now < self.catchUpStart else { continue }
          self.catchUp.append(contentsOf: deliveries[(index + 1)...])
          break
        }
        if self.hasDatagrams {
          if let video = delivery.video {
            datagrams[index].append(
              self.transports.video?.destinations, to: .video,
              isPaced: video.isKeyframe && self.pacing.isNeeded(at: now))
          }
          if !delivery.audio.isEmpty { datagrams[index].append(self.transports.audio?.destinations, to: .audio) }
        }
        switch self.state.handle(self.interleavedContents(of: delivery), at: now) {
        case .ignore, .start: break
        case .send: byteCount += self.write(delivery, channels: self.channels)
        case .sendAudio: byteCount += self.write(delivery, channels: InterleavedChannels(audio: self.channels.audio))
        case .enqueue: self.queue.append(delivery)
        case .skip(let frames): self.drop(frames: frames)
        }
      }
    }
    return byteCount
  }

  private func interleavedContents(of delivery: RTPDelivery) -> ViewerState.Delivery {
    delivery.contents.limited(toVideo: self.channels.video != nil, audio: self.channels.audio != nil)
  }

  /// Starts the viewer if it can start with a delivery: with the access unit, which the last audio before it follows, so that the
  /// response to PLAY announces the packets of both tracks that are sent first, RFC 2326 §12.33.
  ///
  /// - Parameter later: The first audio of the deliveries behind it.
  private func start(
    with delivery: RTPDelivery, later: SharedPackets?, at now: MediaTime, datagrams: inout DatagramDestinationLists
  ) -> Int {
    let hasVideo = self.transports.video != nil
    let contents = delivery.contents.limited(toVideo: hasVideo, audio: self.transports.audio != nil)
    guard self.state.handle(contents, at: now) == .start else { return 0 }
    let known = later ?? self.catchUp.lazy.compactMap(\.audio.first).first
    self.send(self.connection.start(self, at: delivery.positions(withVideo: hasVideo, later: known)))
    guard hasVideo else {
      datagrams.append(self.transports.audio?.destinations, to: .audio)
      return self.write(delivery, channels: .init(audio: self.channels.audio))
    }
    if self.transports.audio != nil { self.catchUp(behind: delivery, at: now) }
    datagrams.append(self.transports.video?.destinations, to: .video)
    return self.write(delivery, channels: .init(video: self.channels.video))
  }

  /// Writes the interleaved packets of the tracks with a channel, and returns their number of bytes.
  private func write(_ delivery: RTPDelivery, channels: InterleavedChannels) -> Int {
    guard let buffer = delivery.interleaved(channels: channels) else { return 0 }
    self.connection.writeMedia(buffer)
    return buffer.readableBytes
  }

  /// Spreads keyframes for a while after a receiver report on the video track with loss.
  ///
  /// - Parameter fractionLost: Fraction of packets lost since the last report, in 1 / 256.
  func handleReport(fractionLost: UInt8, at now: MediaTime) {
    self.pacing.handleReport(fractionLost: fractionLost, at: now)
  }

  /// Sends RTCP packets; without effect before the viewer plays.
  func send(_ reports: PerTrack<ByteBuffer>) {
    guard self.state.isStarted else { return }
    let acceptsReports = self.state.acceptsReports
    self.connection.writing {
      for kind in MediaKind.allCases {
        guard let transport = self.transports[kind], let report = reports[kind] else { continue }
        switch transport {
        case .interleaved(_, let channel):
          if acceptsReports { self.connection.write(ByteBuffer(interleaving: report, channel: channel)) }
        case .datagrams(let destinations): self.connection.send(report, to: destinations)
        }
      }
    }
  }

  /// Closes a connection that has data to send: earlier frames, which must not be shown any more.
  func discardEarlier() {
    let discards = self.counters.discards.load(ordering: .acquiring)
    self.catchUp = CircularBuffer(self.catchUp.filter { $0.video == nil || $0.discards == discards })
    guard let video = self.transports.video, case .interleaved = video else { return }
    self.connection.discardEarlier()
  }

  /// Sends RTCP goodbyes and closes the connection, at the end of the stream.
  func endStream(_ goodbyes: PerTrack<ByteBuffer>) {
    self.send(goodbyes)
    self.connection.streamEnded()
  }
}

// MARK: Starting with the last keyframe

extension RTPViewer {
  /// Enqueues what followed the last keyframe.
  func catchUp(with deliveries: [RTPDelivery], at now: MediaTime) {
    self.catchUp = CircularBuffer(deliveries)
    self.catchUpDeadline = now + Self.maximumCatchUpTime
    self.lastCaughtUp = deliveries.last?.number ?? 0
  }

  /// Enqueues the audio before the first access unit in front of what follows it, and sends neither for ``trackDistance``.
  private func catchUp(behind delivery: RTPDelivery, at now: MediaTime) {
    if let audio = delivery.video?.leadingAudio {
      self.catchUp.prepend(RTPDelivery(number: delivery.number, audio: [audio]))
    }
    self.catchUpStart = now + Self.trackDistance
    if !self.hasDatagrams { self.connection.scheduleCatchUp(of: self, in: Self.trackDistance) }
    guard self.lastCaughtUp == 0 else { return }
    self.lastCaughtUp = delivery.number
    self.startsLive = true
    self.catchUpDeadline = now + Self.maximumCatchUpTime
  }

  /// Whether deliveries of `catchUp` are not sent yet.
  var isCatchingUp: Bool { !self.catchUp.isEmpty }

  /// Removes the next delivery; nil when everything is sent.
  func nextCatchUp() -> RTPDelivery? { self.catchUp.popFirst() }

  /// Sends deliveries since the last keyframe, one after another, while the connection accepts them. Their age does not matter,
  /// since all of them are old; after 10 s the rest is dropped and the viewer continues at the next keyframe. Those behind a live
  /// keyframe are sent at once, or wait as live ones do.
  func sendCatchUp(at now: MediaTime) {
    guard self.isCatchingUp, now >= self.catchUpStart else { return }
    guard now < self.catchUpDeadline else { return self.endCatchUp() }
    var datagrams = [DatagramDestinationLists()]
    while self.startsLive || !self.isBlocked, now >= self.catchUpStart, let delivery = self.nextCatchUp() {
      guard delivery.video == nil || delivery.discards == self.counters.discards.load(ordering: .acquiring) else {
        continue
      }
      let byteCount = self.send([delivery], at: now, datagrams: &datagrams)
      if byteCount > 0 { self.counters.bytesSent.add(byteCount, ordering: .relaxed) }
    }
  }

  /// Drops what the connection has not taken in time, and requests a keyframe to go on at.
  private func endCatchUp() {
    let frames = self.catchUp.count { $0.video != nil }
    self.catchUp.removeAll()
    self.lastCaughtUp = 0
    if frames > 0 { self.counters.framesSkipped.add(frames, ordering: .relaxed) }
    self.state.skipToKeyframe()
    if self.transports.video != nil { self.requestKeyframe() }
  }
}

// MARK: The connection's write buffer

extension RTPViewer {
  func sendQueued() {
    let delivery = self.queue.removeFirst()
    self.connection.writing {
      let byteCount = self.write(delivery, channels: self.channels)
      self.counters.bytesSent.add(byteCount, ordering: .relaxed)
    }
  }

  func removeQueued() {
    self.queue.removeAll()
  }

  func queueIsSent(at now: MediaTime) {
    self.sendCatchUp(at: now)
  }

  func requestKeyframe() {
    self.connection.requestKeyframe()
  }
}

extension RTPViewer.Transport {
  /// The channel of RTP packets; nil for UDP.
  var interleavedChannel: UInt8? {
    switch self {
    case .interleaved(let rtp, _): rtp
    case .datagrams: nil
    }
  }

  /// The UDP destinations; nil for a connection's channels.
  var destinations: RTPViewer.DatagramDestinations? {
    switch self {
    case .interleaved: nil
    case .datagrams(let destinations): destinations
    }
  }
}

/// Destinations of the datagrams of one delivery, by route and track.
struct DatagramDestinationLists {
  struct Route {
    fileprivate(set) var video: [vidicon_destination] = []
    /// Viewers whose keyframe is spread over part of the frame interval.
    fileprivate(set) var pacedVideo: [vidicon_destination] = []
    fileprivate(set) var audio: [vidicon_destination] = []
  }

  private(set) var routes: [Route] = []

  /// Appends a viewer's destination, if it has one.
  ///
  /// - Parameter isPaced: Whether the access unit is a keyframe to be spread.
  mutating func append(
    _ destinations: RTPViewer.DatagramDestinations?, to kind: MediaKind, isPaced: Bool = false
  ) {
    guard let destinations else { return }
    while self.routes.count <= destinations.route { self.routes.append(Route()) }
    switch kind {
    case .video where isPaced: self.routes[destinations.route].pacedVideo.append(destinations.rtp)
    case .video: self.routes[destinations.route].video.append(destinations.rtp)
    case .audio: self.routes[destinations.route].audio.append(destinations.rtp)
    }
  }

  /// Removes all destinations and keeps their memory.
  mutating func removeAll() {
    for route in self.routes.indices {
      self.routes[route].video.removeAll(keepingCapacity: true)
      self.routes[route].pacedVideo.removeAll(keepingCapacity: true)
      self.routes[route].audio.removeAll(keepingCapacity: true)
    }
  }
}

extension ByteBuffer {
  /// A packet within an RTSP connection, RFC 2326 §10.12.
  init(interleaving packet: ByteBuffer, channel: UInt8) {
    self.init()
    self.reserveCapacity(4 + packet.readableBytes)
    self.writeInteger(UInt8(ascii: "$"))
    self.writeInteger(channel)
    self.writeInteger(UInt16(packet.readableBytes))
    self.writeImmutableBuffer(packet)
  }
}
