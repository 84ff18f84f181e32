package import Media

/// Chooses what one viewer gets, from the estimate of its path alone: one of the stream's renditions, or audio without video.
///
/// Pure: time is an argument. Nothing here changes a rendition, so a viewer whose reports are false moves itself only; the bitrate
/// of one that has a single consumer follows ``SoleViewerBitrate``. The rules:
/// - Down after ``downTime`` with too little, or after ``quickDownTime`` with less than 60%: to the highest rendition that fits.
/// - Audio alone when the lowest rendition does not fit.
/// - Up by one after ``upTime``: first ``desiredBitrate`` rises, so that the estimator probes for the higher rendition, then the
///   path must carry it for ``confirmationTime``. An attempt that fails within ``attemptTime`` doubles the next wait.
/// - Where no probe measures the path, of audio alone and of clients without transport-wide feedback, the higher rendition itself is
///   tried after ``upTime``, or once a trial before has ended: a receiver's own estimate does not rise far beyond what it gets.
package struct ViewerRendition: Sendable {
  /// An encoding that a viewer gets.
  package enum Choice: Hashable, Sendable {
    /// Index of a rendition, from the highest bitrate to the lowest.
    case rendition(Int)
    /// No rendition fits.
    case audioOnly
  }

  /// Time with too little capacity before the choice is lowered.
  package static let downTime = MediaDuration.milliseconds(3000)
  /// Time with less than 60% of the needed capacity before the choice is lowered.
  package static let quickDownTime = MediaDuration.milliseconds(1000)
  /// Time without a change before a higher rendition is probed for.
  package static let upTime = MediaDuration.seconds(10)
  /// Maximum time before a probe: each failed attempt doubles ``upTime`` up to this.
  package static let maximumUpTime = MediaDuration.seconds(240)
  /// Time for which the path must carry the higher rendition.
  package static let confirmationTime = MediaDuration.seconds(5)
  /// Time for which a higher rendition must last for its attempt to count as successful.
  package static let attemptTime = MediaDuration.seconds(30)

  /// Share of the capacity for video: the rest is for headers, retransmissions and variation.
  private static let usableShare = 0.9
  /// A viewer stays while it can take this share of its rendition.
  private static let toleratedShare = 0.95
  /// Share of its rendition below which a viewer does not stay for ``downTime``.
  private static let quickShare = 0.6
  /// Capacity needed to move up, as a factor of the higher rendition's bitrate; and the factor that is probed for.
  private static let (upFactor, probeFactor) = (1.25, 1.35)

  /// The encoding that the viewer gets now.
  package private(set) var choice: Choice
  /// Capacity in bits per second that is of use: more is not worth a probe.
  package private(set) var desiredBitrate: Int
  /// Whether the last change was to a higher rendition that nothing says the path to carry.
  package private(set) var isTrial = false
  private var shortSince: MediaTime?
  private var veryShortSince: MediaTime?
  private var enoughSince: MediaTime?
  private var lastChange: MediaTime
  private var lastRise: MediaTime?
  private var currentUpTime = Self.upTime

  /// Creates the choice of a new viewer.
  ///
  /// - Parameters:
  ///   - choice: Rendition that the viewer requested, or gets until its path is known.
  ///   - bitrate: Bits per second of this choice.
  package init(_ choice: Choice, bitrate: Int, at now: MediaTime) {
    self.choice = choice
    self.lastChange = now
    self.desiredBitrate = Int(Double(bitrate) * Self.probeFactor)
  }

  /// Updates the choice by an estimate, some ten times a second.
  ///
  /// - Parameters:
  ///   - capacity: Bits per second that the path carries.
  ///   - isMeasured: Whether it may be more than is sent: by probes.
  ///   - bitrates: Bits per second of the renditions with audio, from the highest to the lowest; at least one.
  /// - Returns: The new choice, from the next keyframe of it on; nil when it stays. With ``isTrial`` the caller has ``desiredBitrate``
  ///   tried.
  package mutating func update(
    capacity: Int, isMeasured: Bool = true, bitrates: [Int], at now: MediaTime
  ) -> Choice? {
    precondition(!bitrates.isEmpty, "a stream has a rendition")
    let usable = Double(capacity) * Self.usableShare
    if case .rendition(let index) = self.choice {
      if index >= bitrates.count { return self.change(to: .rendition(bitrates.count - 1), at: now) }
      if let lower = self.lowerChoice(than: index, usable: usable, bitrates, at: now) {
        return self.change(to: lower, at: now)
      }
    }
    if let lastRise, now - lastRise >= Self.attemptTime {
      self.currentUpTime = Self.upTime
      self.lastRise = nil
    }
    return self.higherChoice(capacity: isMeasured ? capacity : nil, bitrates, at: now).map { choice in
      defer { (self.lastRise, self.isTrial) = (now, !isMeasured) }
      return self.change(to: choice, at: now)
    }
  }

  private mutating func lowerChoice(
    than index: Int, usable: Double, _ bitrates: [Int], at now: MediaTime
  ) -> Choice? {
    let bitrate = Double(bitrates[index])
    self.shortSince = usable < bitrate * Self.toleratedShare ? self.shortSince ?? now : nil
    self.veryShortSince = usable < bitrate * Self.quickShare ? self.veryShortSince ?? now : nil
    let isShort = self.shortSince.map { now - $0 >= Self.downTime } ?? false
    let isVeryShort = self.veryShortSince.map { now - $0 >= Self.quickDownTime } ?? false
    guard isShort || isVeryShort else { return nil }
    if let lastRise, now - lastRise < Self.attemptTime {
      self.currentUpTime = min(self.currentUpTime * 2, Self.maximumUpTime)
      self.lastRise = nil
    }
    if let fitting = bitrates.indices.first(where: { $0 > index && Double(bitrates[$0]) <= usable }) {
      return .rendition(fitting)
    }
    // The lowest one is tried before it is given up.
    return index + 1 < bitrates.count ? .rendition(bitrates.count - 1) : .audioOnly
  }

  /// - Parameter capacity: Nil where it is not known beyond what is sent.
  private mutating func higherChoice(capacity: Int?, _ bitrates: [Int], at now: MediaTime) -> Choice? {
    let index: Int
    switch self.choice {
    case .rendition(0):
      self.desiredBitrate = Int(Double(bitrates[0]) * Self.probeFactor)
      return nil
    case .rendition(let current): index = current - 1
    case .audioOnly: index = bitrates.count - 1
    }
    var wait = self.currentUpTime
    // The lower rendition is kept only once the trial of it has ended.
    if capacity == nil, self.isTrial { wait = max(wait, BandwidthEstimator.trialTime + Self.downTime) }
    guard now - self.lastChange >= wait else {
      if case .rendition(let current) = self.choice {
        self.desiredBitrate = Int(Double(bitrates[current]) * Self.probeFactor)
      } else {
        self.desiredBitrate = 0
      }
      return nil
    }
    self.desiredBitrate = Int(Double(bitrates[index]) * Self.probeFactor)
    guard let capacity else { return .rendition(index) }
    let isEnough = Double(capacity) >= Double(bitrates[index]) * Self.upFactor
    self.enoughSince = isEnough ? self.enoughSince ?? now : nil
    guard let since = self.enoughSince, now - since >= Self.confirmationTime else { return nil }
    return .rendition(index)
  }

  private mutating func change(to choice: Choice, at now: MediaTime) -> Choice {
    self.choice = choice
    self.lastChange = now
    self.isTrial = false
    self.shortSince = nil
    self.veryShortSince = nil
    self.enoughSince = nil
    return choice
  }
}
