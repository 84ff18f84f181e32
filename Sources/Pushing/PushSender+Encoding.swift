package import Media

// The choice of what is sent: the stream's own encoding, or one for this push alone whose bitrate follows the link.
extension PushSender {
  /// The encoding that is sent.
  enum Encoding: Equatable {
    case stream
    case requested
    /// An encoding for this push alone, with the time since which it is not needed: the bitrate is the stream's.
    case own(fullSince: MediaTime?)
  }

  /// Time at the stream's bitrate after which an encoding of its own is released.
  private static let releaseTime = MediaDuration.seconds(15)

  /// Switches to an encoding for this push alone, which was granted. Samples of it follow, from a keyframe on.
  package mutating func encodingGranted(now: MediaTime) -> [Action] {
    guard self.encoding == .requested else { return [.releaseEncoding] }
    self.encoding = .own(fullSince: nil)
    guard case .sending = self.state else { return [] }
    self.configurationChanged()
    var actions: [Action] = [.setBitrate(self.counters.bitrate)]
    // Queued samples of the stream's encoding cannot be continued by this one.
    self.queue.removeAll()
    actions += self.requestKeyframe(at: now)
    return actions
  }

  /// Stays with the stream's encoding, since one for this push alone was refused: frames are dropped instead. One is
  /// requested again at the next change of the bitrate.
  package mutating func encodingRefused() {
    if self.encoding == .requested { self.encoding = .stream }
  }

  /// Returns to the stream's encoding after the failure of the one for this push alone; no other is requested.
  package mutating func encodingFailed(now: MediaTime) -> [Action] {
    self.isEncodingUnusable = true
    guard self.encoding != .stream else { return [] }
    var actions: [Action] = []
    self.releaseEncoding(&actions)
    guard case .sending = self.state else { return actions }
    self.configurationChanged()
    return actions + self.requestKeyframe(at: now)
  }

  /// Requests an encoding of its own for a source whose keyframes are too far apart, and which makes none on request: servers cut
  /// segments at keyframes.
  mutating func requestEncodingForKeyframes(_ actions: inout [Action]) {
    guard self.encoding == .stream, self.keyframes.areLate, self.settings.minimumBitrate != nil,
      !self.isEncodingUnusable
    else { return }
    self.encoding = .requested
    actions.append(.requestEncoding(bitrate: self.counters.bitrate))
  }

  /// Whether an encoding of its own is needed although the link carries the stream's.
  private var keepsEncoding: Bool {
    self.settings.alwaysHasOwnEncoding || self.keyframes.areLate
  }

  mutating func adapt(
    _ connection: inout Connection, estimate: Int?, _ actions: inout [Action], at now: MediaTime
  ) {
    let (leftByteCount, age) = (connection.leftByteCount, self.oldestUnsentAge(connection, at: now))
    if let bitrate = connection.rates?.update(leftByteCount: leftByteCount, age: age, estimate: estimate, at: now) {
      self.counters.bitrate = bitrate
      self.apply(bitrate, &actions)
    }
    if self.encoding == .requested, !self.keepsEncoding, self.counters.bitrate >= self.settings.bitrate {
      // The link carries the stream again.
      self.releaseEncoding(&actions)
    }
    guard case .own(let fullSince) = self.encoding else { return }
    guard self.counters.bitrate >= self.settings.bitrate else { return self.encoding = .own(fullSince: nil) }
    self.encoding = .own(fullSince: fullSince ?? now)
    if let fullSince, !self.keepsEncoding, now - fullSince >= Self.releaseTime {
      self.releaseEncoding(&actions)
      connection.needsConfiguration = true
      self.queue.removeAll()
      actions += self.requestKeyframe(at: now)
    }
  }

  private mutating func apply(_ bitrate: Int, _ actions: inout [Action]) {
    switch self.encoding {
    case .stream where bitrate < self.settings.bitrate && !self.isEncodingUnusable:
      self.encoding = .requested
      actions.append(.requestEncoding(bitrate: bitrate))
    case .own: actions.append(.setBitrate(bitrate))
    case .stream, .requested: break
    }
  }

  mutating func releaseEncoding(_ actions: inout [Action]) {
    if self.encoding != .stream { actions.append(.releaseEncoding) }
    self.encoding = .stream
    self.counters.bitrate = self.settings.bitrate
  }
}
