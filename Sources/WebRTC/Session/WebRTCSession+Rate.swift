package import Media
internal import RTP

// MARK: Rate

extension WebRTCSession {
  /// Bits per second that the path to the client carries, as far as known; nil before the client's first report.
  @inline(__always)
  package var estimatedBitrate: Int? { self.hasEstimate ? self.estimator.bitrate : nil }

  /// ``estimatedBitrate`` for choices that last, in bits per second: not lowered while a queue of the path is being emptied.
  package var capacity: Int? { self.hasEstimate ? self.estimator.capacity : nil }

  /// Sets the bitrate of the media, and the bitrate up to which the path is probed.
  ///
  /// - Parameters:
  ///   - media: Bits per second of video and audio.
  ///   - wanted: Maximum bitrate of probes, in bits per second.
  package mutating func setBitrates(media: Int, wanted: Int) {
    (self.demand.media, self.demand.wanted) = (max(1, media), max(1, wanted))
  }

  /// Whether ``capacity`` may be more than is sent: by probes, while transport-wide feedback comes.
  package func isCapacityMeasured(at now: MediaTime) -> Bool { self.estimator.isMeasurable(at: now) }

  /// Believes for a while that the path carries a bitrate that is sent from now on, where nothing measures it.
  ///
  /// - Parameter bitrate: Bits per second.
  package mutating func tryBitrate(_ bitrate: Int, at now: MediaTime) {
    self.estimator.tryBitrate(bitrate, at: now)
    self.adjustPace()
  }

  @inline(__always)
  private var hasEstimate: Bool { self.estimator.roundTrip != nil || self.statistics.fractionLost != nil }

  /// Runs the timers of the estimate, and starts probes.
  mutating func update(at now: MediaTime) {
    self.nextUpdate = now + Self.updateInterval
    self.estimator.handleTimeout(at: now)
    self.estimator.desiredBitrate = self.demand.bitrate(estimate: self.estimator.capacity, at: now)
    // Padding is made of packets that were sent.
    if self.video?.history.isEmpty == false, let cluster = self.estimator.startProbe(at: now) {
      self.pacer.start(cluster, at: now)
    }
    self.adjustPace()
    self.statistics.estimatedBitrate = self.estimatedBitrate
    self.statistics.queueingDelay = self.estimator.queueingDelay
  }

  /// Spreads frames over time, unless the path carries much more than they have.
  mutating func adjustPace() {
    let isImmediate = !self.estimator.isDraining && self.demand.isImmediate(estimate: self.estimator.bitrate)
    self.pacer.setBitrate(isImmediate ? nil : self.estimator.bitrate, capacity: self.estimator.capacity)
  }

  /// Updates the estimate by a report block of the video track, for clients without transport-wide feedback.
  mutating func estimate(from block: RTCPReportBlock, at now: MediaTime) {
    let sent = self.statistics.bytesSent
    guard let last = self.lastReceiverReport else {
      self.lastReceiverReport = (sent, now)
      return
    }
    guard now - last.time >= .milliseconds(200) else { return }
    self.lastReceiverReport = (sent, now)
    self.estimator.handleReceiverReport(
      lossShare: Double(block.fractionLost) / 256, roundTrip: self.statistics.roundTrip,
      sentBitrate: Int(Double(sent - last.bytesSent) * 8 / (now - last.time).seconds), at: now)
    self.adjustPace()
  }

  /// Adds frames that the pacer has dropped to the statistics; video then waits for a keyframe.
  mutating func countDrops(at now: MediaTime) {
    let drops = self.pacer.dropCounts.frames
    guard drops != self.countedDrops else { return }
    self.statistics.framesDropped += drops - self.countedDrops
    self.countedDrops = drops
    if self.pacer.needsKeyframe { self.requestKeyframe(at: now) }
  }
}
