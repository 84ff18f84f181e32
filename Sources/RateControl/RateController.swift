public import Media

/// Decides the bitrates of a stream's renditions, and which rendition each output gets, from what the outputs report.
///
/// Pure: time is an argument. Outputs that can measure their link (a push's queue, a WebRTC estimate) report its capacity.
/// All outputs of a rendition share its encoder, so no single one decides:
/// - A rendition's bitrate follows the capacity that *more than half* of its outputs have. Outputs that do not adapt (RTSP
///   viewers, HLS, recordings) have every capacity in this count.
/// - An output whose capacity is below its rendition's bitrate for ``downTime`` moves to the next lower rendition.
/// - It moves up when its capacity was enough for the higher one for ``upTime``; each failed attempt doubles that time.
///
/// Bitrates fall at once and rise by at most 8% a second, within the bounds of the rendition.
public struct RateController: Sendable {
  /// Bitrates of one encoding of the stream.
  public struct Rendition: Hashable, Sendable {
    /// Name, unique in the stream, such as `main` or `low`.
    public var name: String
    /// Minimum and maximum bitrate of its encoder, in bits per second.
    public var bitrates: ClosedRange<Int>

    /// Creates a rendition with the bounds of its bitrate, in bits per second.
    public init(name: String, bitrates: ClosedRange<Int>) {
      self.name = name
      self.bitrates = bitrates
    }
  }

  /// Identifies an output in reports and decisions; chosen by the caller.
  public struct OutputID: Hashable, Sendable {
    /// Unique among the outputs that exist.
    public var rawValue: Int

    /// Creates the identifier of an output, unique among those of the stream.
    public init(rawValue: Int) {
      self.rawValue = rawValue
    }
  }

  /// Capacity of an output's link, as the output measures it.
  public struct Report: Hashable, Sendable {
    /// Bitrate of media that the link carries, in bits per second; not negative.
    public var capacity: Int
    /// Whether the link was not filled, so that it may carry more.
    public var isLimitedBySender: Bool

    /// Creates a report of a capacity in bits per second.
    public init(capacity: Int, isLimitedBySender: Bool = false) {
      self.capacity = capacity
      self.isLimitedBySender = isLimitedBySender
    }
  }

  /// A change of an encoder's bitrate or of an output's rendition, for the caller to perform.
  public enum Decision: Hashable, Sendable {
    /// An encoder gets a bitrate, in bits per second. The index is that of ``renditions``.
    case setBitrate(rendition: Int, Int)
    /// An output gets another rendition from the next keyframe of that rendition on.
    case move(OutputID, to: Int)
  }

  /// Time with too little capacity before an output moves to the next lower rendition.
  public static let downTime = MediaDuration.seconds(5)
  /// Time with enough capacity before an output moves to the next higher rendition.
  public static let upTime = MediaDuration.seconds(15)
  /// Maximum ``upTime`` after failed attempts.
  public static let maximumUpTime = MediaDuration.seconds(240)
  /// Time after which a report no longer counts.
  public static let reportLifetime = MediaDuration.seconds(10)

  /// Time over which reported capacities are smoothed.
  fileprivate static let smoothingTime = MediaDuration.seconds(2)
  /// Share of a link's capacity that media may use; the rest is for its variation.
  private static let usableShare = 0.9
  /// An output stays while it can take this share of its rendition's bitrate.
  private static let toleratedShare = 0.95
  /// Capacity needed to move up, as a factor of the higher rendition's bitrate.
  private static let upFactor = 1.25
  /// Maximum rise of a bitrate per second, as a share.
  private static let rise = 0.08
  /// Time without a fall before a bitrate rises.
  private static let calmTime = MediaDuration.seconds(5)
  /// A rise below this share is not worth a change of the encoder.
  private static let minimumChange = 0.03
  /// Time for which an output must stay up for its attempt to count as successful.
  private static let attemptTime = MediaDuration.seconds(30)

  fileprivate struct Output {
    var rendition: Int
    let isAdaptive: Bool
    /// The last report, with its capacity smoothed.
    var report: Report?
    var reported = MediaTime.zero
    /// Time since which its capacity is too little for its rendition.
    var shortSince: MediaTime?
    /// Time since which its capacity suffices for the next higher rendition.
    var readySince: MediaTime?
    var upTime = RateController.upTime
    var movedUp: MediaTime?
  }

  private struct Encoding {
    /// Bitrate that was decided last.
    var bitrate: Int
    /// Bitrate on its way up, before it is worth a change.
    var pending: Double
    var lastFall: MediaTime?
    var lastUpdate: MediaTime?
  }

  /// The renditions, from the highest bitrate to the lowest.
  public let renditions: [Rendition]
  private var encodings: [Encoding]
  private var outputs: [OutputID: Output] = [:]

  /// Creates a controller whose renditions start at their maximum bitrate.
  ///
  /// - Parameter renditions: At least one, ordered from the highest bitrate to the lowest.
  public init(renditions: [Rendition]) {
    precondition(!renditions.isEmpty, "a stream has a rendition")
    self.renditions = renditions
    self.encodings = renditions.map {
      Encoding(bitrate: $0.bitrates.upperBound, pending: Double($0.bitrates.upperBound))
    }
  }

  /// Bitrate of a rendition, in bits per second.
  public func bitrate(of rendition: Int) -> Int { self.encodings[rendition].bitrate }

  /// Rendition of an output; nil for an unknown one.
  public func rendition(of output: OutputID) -> Int? { self.outputs[output]?.rendition }

  /// The rendition with which an output should begin.
  ///
  /// - Parameter capacity: Expected capacity of its link in bits per second; nil when nothing is known.
  /// - Returns: The highest rendition whose bitrate the capacity holds, the lowest when it holds none, the first when
  ///   nothing is known.
  public func initialRendition(capacity: Int?) -> Int {
    guard let capacity else { return 0 }
    let fitting = self.encodings.firstIndex { Double($0.bitrate) <= Double(capacity) * Self.usableShare }
    return fitting ?? self.renditions.count - 1
  }

  /// Adds an output.
  ///
  /// - Parameters:
  ///   - output: Replaces an output with the same identifier.
  ///   - rendition: Index of its rendition.
  ///   - isAdaptive: Whether it reports, and may be moved.
  public mutating func add(_ output: OutputID, to rendition: Int, isAdaptive: Bool) {
    precondition(self.renditions.indices.contains(rendition), "the rendition exists")
    self.outputs[output] = Output(rendition: rendition, isAdaptive: isAdaptive)
  }

  /// Removes an output; without effect for an unknown one.
  public mutating func remove(_ output: OutputID) {
    self.outputs[output] = nil
  }

  /// Adds a report of an adaptive output; those of others are ignored.
  public mutating func report(_ report: Report, of output: OutputID, at now: MediaTime) {
    guard var entry = self.outputs[output], entry.isAdaptive else { return }
    entry.add(report, at: now)
    self.outputs[output] = entry
  }

  /// Decides on bitrates and renditions. Called about ten times a second.
  ///
  /// - Returns: Changes only, bitrates before moves.
  public mutating func update(at now: MediaTime) -> [Decision] {
    var decisions: [Decision] = []
    for rendition in self.renditions.indices {
      if let bitrate = self.updateBitrate(of: rendition, at: now) {
        decisions.append(.setBitrate(rendition: rendition, bitrate))
      }
    }
    for id in self.outputs.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
      if let rendition = self.updatePlace(of: id, at: now) { decisions.append(.move(id, to: rendition)) }
    }
    return decisions
  }
}

// MARK: Bitrates

extension RateController {
  /// Capacity that more than half of a rendition's outputs have; nil when most do not limit it.
  private func sharedCapacity(of rendition: Int, at now: MediaTime) -> Int? {
    let capacities = self.outputs.values.filter { $0.rendition == rendition }.map { output in
      output.currentReport(at: now).map(\.capacity) ?? Int.max
    }
    guard !capacities.isEmpty else { return nil }
    let shared = capacities.sorted()[capacities.count / 2]
    return shared == .max ? nil : shared
  }

  private mutating func updateBitrate(of rendition: Int, at now: MediaTime) -> Int? {
    let bounds = self.renditions[rendition].bitrates
    var encoding = self.encodings[rendition]
    defer { self.encodings[rendition] = encoding }
    let elapsed = encoding.lastUpdate.map { (now - $0).seconds } ?? 0
    encoding.lastUpdate = now

    let usable = self.sharedCapacity(of: rendition, at: now).map { Double($0) * Self.usableShare }
    let goal = min(max(usable ?? Double(bounds.upperBound), Double(bounds.lowerBound)), Double(bounds.upperBound))
    if goal < Double(encoding.bitrate) * Self.toleratedShare || goal == Double(bounds.lowerBound) {
      encoding.pending = goal
      encoding.lastFall = now
      guard Int(goal) != encoding.bitrate else { return nil }
      encoding.bitrate = Int(goal)
      return encoding.bitrate
    }
    if let lastFall = encoding.lastFall, now - lastFall < Self.calmTime { return nil }
    encoding.pending = min(goal, max(encoding.pending, Double(encoding.bitrate)) * (1 + Self.rise * min(elapsed, 1)))
    let isWorthwhile = encoding.pending >= Double(encoding.bitrate) * (1 + Self.minimumChange)
    let isComplete = encoding.pending >= Double(bounds.upperBound) && encoding.bitrate < bounds.upperBound
    guard isWorthwhile || isComplete else { return nil }
    encoding.bitrate = Int(encoding.pending)
    return encoding.bitrate
  }
}

// MARK: Places

extension RateController {
  /// The new rendition of an output; nil when it stays.
  private mutating func updatePlace(of id: OutputID, at now: MediaTime) -> Int? {
    guard var output = self.outputs[id], let report = output.currentReport(at: now) else { return nil }
    defer { self.outputs[id] = output }
    let usable = Double(report.capacity) * Self.usableShare

    let isShort = usable < Double(self.encodings[output.rendition].bitrate) * Self.toleratedShare
    output.shortSince = isShort ? output.shortSince ?? now : nil
    if let since = output.shortSince, now - since >= Self.downTime, output.rendition + 1 < self.renditions.count {
      if let movedUp = output.movedUp, now - movedUp < Self.attemptTime {
        output.upTime = min(output.upTime * 2, Self.maximumUpTime)
      }
      output.move(to: output.rendition + 1)
      output.movedUp = nil
      return output.rendition
    }
    if let movedUp = output.movedUp, now - movedUp >= Self.attemptTime {
      output.upTime = Self.upTime
      output.movedUp = nil
    }

    guard output.rendition > 0 else { return nil }
    let higher = output.rendition - 1
    let isEnough = Double(report.capacity) >= Double(self.bitrateForNewcomer(to: higher)) * Self.upFactor
    // A link that is not filled cannot be measured; only an attempt shows it.
    let isReady = !isShort && (isEnough || report.isLimitedBySender)
    output.readySince = isReady ? output.readySince ?? now : nil
    guard let since = output.readySince, now - since >= output.upTime else { return nil }
    output.move(to: higher)
    output.movedUp = now
    return output.rendition
  }

  /// Bitrate that a further output must take: the minimum when the rendition has no output, since it then follows that
  /// output alone.
  private func bitrateForNewcomer(to rendition: Int) -> Int {
    let isUsed = self.outputs.values.contains { $0.rendition == rendition }
    return isUsed ? self.encodings[rendition].bitrate : self.renditions[rendition].bitrates.lowerBound
  }
}

extension RateController.Output {
  /// The last report, unless it is too old.
  fileprivate func currentReport(at now: MediaTime) -> RateController.Report? {
    now - self.reported < RateController.reportLifetime ? self.report : nil
  }

  /// Smooths the capacity: estimates vary by a tenth on a link that does not. A fall by more than that counts at once.
  fileprivate mutating func add(_ report: RateController.Report, at now: MediaTime) {
    var capacity = max(0, report.capacity)
    if let smoothed = self.currentReport(at: now)?.capacity, capacity > Int(Double(smoothed) * 0.75) {
      let weight = min((now - self.reported).seconds / RateController.smoothingTime.seconds, 1)
      capacity = smoothed + Int(Double(capacity - smoothed) * weight)
    }
    self.report = RateController.Report(capacity: capacity, isLimitedBySender: report.isLimitedBySender)
    self.reported = now
  }

  fileprivate mutating func move(to rendition: Int) {
    self.rendition = rendition
    self.shortSince = nil
    self.readySince = nil
  }
}
