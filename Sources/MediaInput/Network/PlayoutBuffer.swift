internal import Capture
internal import Media
internal import Threading

/// Bounded queue between the reading and the playing thread of a network source. Holds each packet until its decode time.
///
/// Bounded in bytes, packets and time. When it is full, a buffered source blocks its reader, and thereby the server; packets of a
/// live source are dropped, video up to the next keyframe or recovery point, since decoding is too slow.
final class PlayoutBuffer: Sendable {
  enum Item {
    /// A new connection, whose packets follow.
    case tracks(NetworkTracks)
    /// A new connection of a publisher, whose packets follow.
    case codecs(TrackCodecs)
    /// Codecs of tracks that replace those of their kind; others go on.
    case changedCodecs(TrackCodecs)
    /// Video that replaces the one before.
    case video(NetworkVideoTrack)
    /// Audio that replaces the one before.
    case audio(NetworkAudioTrack)
    case packet(NetworkPacket)
    /// The video packets since the last keyframe, which came before the video consumer; at most those of an ``OpenGroup``.
    case openGroup([NetworkPacket])
    /// The connection was lost; nil where the source has ended.
    case lost(VidiconError?)
    /// The source is connected, and decoding of its video cannot start yet.
    case videoWaits(VidiconError)
    /// The audio consumer was attached while nothing is received, or the audio cannot be decoded.
    case noAudio(VidiconError)
  }

  private struct State {
    var items: [Item] = []
    var byteCount = 0
    var needsKeyframe = false
    var dropped = 0
    /// Time up to which the first packets wait for each other; nil where none do.
    var startEnd: MediaTime?
    /// Whether a packet has been delivered.
    var isStarted = false
    /// Arrival of packets; nil before the first one, and after the source was lost.
    var life: SourceLife?
    /// Whether the source counts as lost since it has sent nothing.
    var isSilent = false
    var isClosed = false
  }

  static let maximumByteCount = 32 << 20
  static let maximumPacketCount = 4_096
  /// Maximum number of changes of codecs that wait to be played: beyond it, what waits is dropped.
  static let maximumChangeCount = 8
  private let state = Monitor(State())
  private let limits: SourceLife.Limits

  /// - Parameter limits: Times after which a source counts as lost, where ``next(silence:)`` judges that.
  init(limits: SourceLife.Limits = SourceLife.Limits()) {
    self.limits = limits
  }

  /// Whether half of the packets or bytes are buffered that may be.
  var isHalfFull: Bool {
    self.state.read {
      $0.byteCount >= Self.maximumByteCount / 2 || $0.items.count >= Self.maximumPacketCount / 2
    }
  }

  /// Number of dropped packets.
  var droppedCount: Int { self.state.read { $0.dropped } }

  /// Enqueues a change of codecs: in place of one that no packet follows, and, where too many wait, of all of them with their
  /// packets.
  func appendChange(_ codecs: TrackCodecs) {
    self.state.withLock { state in
      guard !state.isClosed else { return }
      if case .changedCodecs(let previous)? = state.items.last {
        state.items[state.items.count - 1] = .changedCodecs(previous.changed(to: codecs))
        return
      }
      var waiting: [TrackCodecs] = []
      for case .changedCodecs(let codecs) in state.items { waiting.append(codecs) }
      guard waiting.count >= Self.maximumChangeCount else {
        state.items.append(.changedCodecs(codecs))
        return
      }
      // Decoding is too slow.
      let count = state.items.count
      state.items.removeAll { item in
        switch item {
        case .changedCodecs, .packet, .openGroup: true
        case .tracks, .codecs, .video, .audio, .lost, .videoWaits, .noAudio: false
        }
      }
      state.dropped += count - state.items.count - waiting.count
      (state.byteCount, state.needsKeyframe) = (0, true)
      state.items.append(
        .changedCodecs(waiting.dropFirst().reduce(waiting[0]) { $0.changed(to: $1) }.changed(to: codecs)))
    }
  }

  /// Enqueues an item other than a packet; never dropped.
  func append(_ item: Item) {
    self.state.withLock { state in
      guard !state.isClosed else { return }
      if case .lost = item { (state.life, state.isSilent) = (nil, false) }
      state.items.append(item)
    }
  }

  /// Enqueues a packet of a live source, or drops it.
  ///
  /// - Returns: Whether it was dropped, after which video goes on at the next keyframe.
  @discardableResult
  func appendLive(_ packet: NetworkPacket) -> Bool {
    self.state.withLock { state in
      guard !state.isClosed else { return false }
      let isFull = Self.isFull(state)
      if packet.kind == .video {
        if isFull {
          state.needsKeyframe = true
        } else if state.needsKeyframe, packet.isKeyframe || packet.hasRecoveryPoint {
          state.needsKeyframe = false
        }
      }
      guard !isFull, packet.kind == .audio || !state.needsKeyframe else {
        state.dropped += 1
        return true
      }
      self.add(packet, to: &state)
      return false
    }
  }

  /// Enqueues a packet, in order of decode time; blocks while the buffer is full.
  ///
  /// Segments contain several audio frames before the video frames of their time: in the order of arrival, these would wait for
  /// the last of those, and be played in bunches.
  ///
  /// - Parameter span: Time ahead of its presentation from which on a packet is waited with.
  /// - Returns: False when the buffer was closed.
  func appendWaiting(_ packet: NetworkPacket, span: MediaDuration) -> Bool {
    self.state.take { state -> Bool? in
      if state.isClosed { return false }
      guard !Self.isFull(state),
        packet.times.decode - StreamClock.system.now() < span || state.items.isEmpty
      else { return nil }
      var index = state.items.count
      while index > 0, case .packet(let other) = state.items[index - 1], other.kind != packet.kind,
        other.times.decode > packet.times.decode
      {
        index -= 1
      }
      state.byteCount += packet.byteCount
      state.items.insert(.packet(packet), at: index)
      return true
    } ?? false
  }

  /// Lets the first packets wait for each other, and makes those that wait earlier. Has no effect once one has been delivered:
  /// those behind it would come before it.
  ///
  /// - Parameters:
  ///   - end: Time up to which they wait.
  ///   - time: Time by which they are earlier now.
  func holdStart(until end: MediaTime, movedBy time: MediaDuration) {
    self.state.withLock { state in
      guard !state.isStarted else { return }
      state.startEnd = end
      guard time > .zero else { return }
      for index in state.items.indices {
        guard case .packet(var packet) = state.items[index] else { continue }
        packet.times = SourceTimeline.Times(
          decode: packet.times.decode - time, presentation: packet.times.presentation - time)
        state.items[index] = .packet(packet)
      }
    }
  }

  private static func isFull(_ state: State) -> Bool {
    state.byteCount >= Self.maximumByteCount || state.items.count >= Self.maximumPacketCount
  }

  private func add(_ packet: NetworkPacket, to state: inout State) {
    let now = StreamClock.system.now()
    if state.life == nil { state.life = SourceLife(at: now, limits: self.limits) }
    state.life?.handleMedia(packet.kind, at: now)
    state.isSilent = false
    state.byteCount += packet.byteCount
    state.items.append(.packet(packet))
  }

  /// Dequeues the next item at its decode time; nil when the buffer was closed.
  ///
  /// - Parameter silence: Returns the error of a source that counts as lost since it has sent nothing for a time; nil where its reader
  ///   judges that.
  func next(silence: ((MediaDuration) -> VidiconError)? = nil) -> Item? {
    var wake: MediaTime?
    while true {
      let step = self.state.take(until: wake) { state -> Step? in
        if state.isClosed { return .end }
        guard let first = state.items.first else {
          guard let silence, let life = state.life, !state.isSilent else { return nil }
          let end = life.mediaLossTime
          guard StreamClock.system.now() >= end else { return wake == end ? nil : .wait(end) }
          state.isSilent = true
          return .item(.lost(silence(life.mediaTimeout)))
        }
        if case .packet(let packet) = first {
          let due = max(packet.times.decode, state.startEnd ?? packet.times.decode)
          guard StreamClock.system.now() >= due else { return wake == due ? nil : .wait(due) }
          state.isStarted = true
          state.byteCount -= packet.byteCount
        }
        return .item(state.items.removeFirst())
      }
      switch step {
      case .item(let item): return item
      case .wait(let time): wake = time
      case .end: return nil
      case nil: wake = nil
      }
    }
  }

  /// Delivers all items to consumers on the calling thread, until the buffer is closed.
  ///
  /// - Parameters:
  ///   - audioFormat: Format of all audio blocks; nil for that of each connection.
  ///   - silence: See ``next(silence:)``.
  ///   - open: Opens the decoders of codecs.
  ///   - onDamage: Called when video could not be decoded: the frames that follow refer to it.
  ///   - onFormat: Called with the format of the frames.
  func play(
    to consumers: NetworkConsumers, audioFormat: AudioFormat?,
    silence: ((MediaDuration) -> VidiconError)? = nil, open: (TrackCodecs) -> NetworkTracks? = { $0.open() },
    onDamage: () -> Void = {},
    onFormat: (VideoFormat) -> Void
  ) {
    var (video, audio): (NetworkVideoTrack?, NetworkAudioTrack?)
    func announce(_ tracks: NetworkTracks) {
      if let format = tracks.video?.format { onFormat(format) }
      if let audioFormat { tracks.audio?.setFormat(audioFormat) }
    }
    /// Opens decoders in place of those of their kind.
    func replace(by codecs: TrackCodecs) {
      let fresh = open(codecs)
      if codecs.video != nil {
        video = fresh?.video
        if video == nil { consumers.notifyVideo { $0.captureEnded(codecs.undecodable(.video)) } }
      }
      if codecs.audio != nil {
        audio = fresh?.audio
        if audio == nil { consumers.notifyAudio { $0.captureEnded(codecs.undecodable(.audio)) } }
      }
      if let fresh { announce(fresh) }
    }
    /// Delivers frames that follow the announcement of their format.
    func deliverHeldFrames() {
      for frame in video?.takeHeldFrames() ?? [] {
        onFormat(frame.format)
        consumers.notifyVideo { $0.consume(frame) }
      }
    }
    while let item = self.next(silence: silence) {
      switch item {
      case .tracks(let fresh):
        (video, audio) = (fresh.video, fresh.audio)
        announce(fresh)
      case .codecs(let codecs):
        (video, audio) = (nil, nil)
        replace(by: codecs)
      case .changedCodecs(let codecs): replace(by: codecs)
      case .video(let fresh):
        video = fresh
        onFormat(fresh.format)
      case .audio(let fresh):
        audio = fresh
        if let audioFormat { fresh.setFormat(audioFormat) }
      case .packet(let packet):
        switch packet.kind {
        case .video:
          let corruptCount = video?.corruptCount
          consumers.notifyVideo { video?.handle(packet, to: $0) }
          if video?.corruptCount != corruptCount { onDamage() }
          deliverHeldFrames()
        case .audio: consumers.notifyAudio { audio?.handle(packet, to: $0) }
        }
      case .openGroup(let packets):
        consumers.notifyVideo { video?.catchUp(with: packets, to: $0) }
        deliverHeldFrames()
      case .lost(let error):
        consumers.notifyVideo { $0.captureEnded(error) }
        consumers.notifyAudio { $0.captureEnded(error) }
      case .videoWaits(let reason): consumers.notifyVideo { $0.captureWaits(reason) }
      case .noAudio(let error): consumers.notifyAudio { $0.captureEnded(error) }
      }
    }
  }

  private enum Step {
    case item(Item)
    case wait(MediaTime)
    case end
  }

  /// Discards all items and wakes all waiting threads.
  func close() {
    self.state.withLock { state in
      state.isClosed = true
      state.items = []
      state.byteCount = 0
    }
  }
}

extension TrackCodecs {
  /// The error of a track that libavcodec does not accept.
  fileprivate func undecodable(_ kind: MediaKind) -> VidiconError {
    VidiconError(
      .unsupported, subject: self.source, cause: "its \(kind) cannot be decoded",
      nextStep: "choose another codec or profile in the encoder")
  }
}
