internal import Codecs
internal import Media
internal import NIOCore

/// Decides what the snapshot thread does next: which images are requested, in which width, and when. Pure: no clock or
/// thread.
///
/// Bounded in concurrently requested widths, groups of viewers and kept images.
struct SnapshotRequests {
  typealias Answer = Result<ByteBuffer, VidiconError>
  typealias SnapshotWaiter = @Sendable (Answer) -> Void

  /// Next step of the thread.
  enum Step {
    /// Ends the thread.
    case end
    /// Requests a frame after the one of this number from the pipeline.
    case ask(after: Int)
    /// Encodes images of a frame.
    case encode(OutputFrame, [Job])
    /// Waits for a change, at most until a time.
    case wait(until: MediaTime?)
  }

  /// One image to encode, and its waiters.
  struct Job {
    var width: Int
    var snapshots: [SnapshotWaiter] = []
    /// Whether motion JPEG viewers wait for it.
    var isForViewers = false
    /// Set when the frame was encoded in this width before.
    var file: ByteBuffer?
  }

  /// Motion JPEG viewers with the same parameters.
  struct Group {
    let width: Int
    let frameRate: Int
    /// Network of the client that asked for it first; nil for the program itself.
    let network: String?
    var viewers: [Int: AsyncStream<ByteBuffer>.Continuation] = [:]
    /// Due time of the next image.
    var due: MediaTime
    /// Number of the last frame shown.
    var number = 0
    var file: ByteBuffer?
    /// Whether its image is being encoded.
    var isPending = false
  }

  /// An encoded image, kept for requests with the same width.
  private struct File {
    let width: Int
    let number: Int
    let time: MediaTime
    let bytes: ByteBuffer
  }

  /// Connection to an opened video pipeline.
  struct Source {
    let format: VideoFormat
    let frameInterval: MediaDuration
    /// Requests a frame after the one of a number from the pipeline.
    let ask: @Sendable (_ number: Int) -> Void
  }

  /// Maximum number of widths in which snapshots are requested at a time, and of groups of viewers, the stream's own width
  /// (at the default rate) not counted.
  static let maximumWidths = 8
  /// Maximum number of these that clients of one network cause.
  static let maximumWidthsOfNetwork = 2
  /// Default frame rate of motion JPEG, in frames per second.
  static let defaultFrameRate = 10
  /// Maximum number of cached images, and of cached encoders.
  static let maximumKept = 4
  /// Time without requests after which the thread ends.
  static let idleTime = MediaDuration.seconds(10)

  /// Nil before the pipeline has opened, and after its end.
  private(set) var source: Source?
  private(set) var statistics = SnapshotStatistics()
  private var hasEnded = false
  /// Whether the frame whose images are being encoded was discarded.
  private var isDiscarded = false
  private var isThreadRunning = false
  /// Frame number of the request that the pipeline has not answered yet; nil for none.
  private var requestedNumber: Int?
  private var output: OutputFrame?
  private var snapshots: [Int: [SnapshotWaiter]] = [:]
  /// Networks of the clients that requested the widths of ``snapshots`` first.
  private var requesters: [Int: String] = [:]
  private var groups: [Group] = []
  private var files: [File] = []
  private var lastViewer = 0
  private var lastDemand = MediaTime.zero
  private var restEnd = MediaTime.zero

  /// Connects an opened pipeline; without effect after the end of the stream.
  mutating func connect(_ source: Source) {
    if !self.hasEnded { self.source = source }
  }

  /// Ends all requests; returns the waiters to answer.
  mutating func end() -> (snapshots: [SnapshotWaiter], viewers: [AsyncStream<ByteBuffer>.Continuation]) {
    self.hasEnded = true
    self.source = nil
    (self.output, self.requestedNumber, self.files) = (nil, nil, [])
    return self.takeAll()
  }

  /// Ends all requests, since no thread can be started; returns the waiters to answer.
  mutating func threadFailed() -> (snapshots: [SnapshotWaiter], viewers: [AsyncStream<ByteBuffer>.Continuation]) {
    self.isThreadRunning = false
    return self.takeAll()
  }

  private mutating func takeAll() -> (snapshots: [SnapshotWaiter], viewers: [AsyncStream<ByteBuffer>.Continuation]) {
    defer { (self.snapshots, self.groups, self.statistics.viewers) = ([:], [], 0) }
    return (self.snapshots.values.flatMap { $0 }, self.groups.flatMap(\.viewers.values))
  }
}

// MARK: Viewers

extension SnapshotRequests {
  /// Requests an image at most a frame interval old.
  ///
  /// - Parameters:
  ///   - network: Network of the client; nil for the program itself.
  ///   - waiter: Kept until there is one, when nil is returned.
  mutating func addSnapshot(
    width: Int?, from network: String? = nil, at now: MediaTime, _ waiter: @escaping SnapshotWaiter
  ) -> Answer? {
    guard let source = self.source else { return .failure(VidiconError.streamHasNoFrame) }
    let ownWidth = JPEGEncoder.size(of: source.format, width: nil).width
    let width = JPEGEncoder.size(of: source.format, width: width).width
    if let file = self.files.first(where: { $0.width == width }), now - file.time <= source.frameInterval {
      return .success(file.bytes)
    }
    if self.snapshots[width] == nil, width != ownWidth {
      let others = self.snapshots.keys.filter { $0 != ownWidth }
      let own = network.map { network in others.count { self.requesters[$0] == network } } ?? 0
      guard others.count < Self.maximumWidths, own < Self.maximumWidthsOfNetwork else {
        return .failure(.tooManySnapshotWidths)
      }
      self.requesters[width] = network
    }
    self.snapshots[width, default: []].append(waiter)
    return nil
  }

  /// Adds a motion JPEG viewer, which gets the current image of its group at once.
  ///
  /// - Returns: A number by which to remove the viewer; nil when the stream shows none.
  mutating func addViewer(
    width: Int?, frameRate: Int, from network: String? = nil, at now: MediaTime,
    _ viewer: AsyncStream<ByteBuffer>.Continuation
  ) -> Int? {
    guard let source = self.source else { return nil }
    let width = JPEGEncoder.size(of: source.format, width: width).width
    let frameRate = min(max(frameRate, 1), 30)
    let ownWidth = JPEGEncoder.size(of: source.format, width: nil).width
    let index = self.group(width: width, frameRate: frameRate, from: network, ownWidth: ownWidth, at: now)
    self.lastViewer += 1
    self.groups[index].viewers[self.lastViewer] = viewer
    if let file = self.groups[index].file { viewer.yield(file) }
    self.statistics.viewers += 1
    return self.lastViewer
  }

  /// The group with these parameters; a new one; or, at the maximum, the most similar one.
  private mutating func group(
    width: Int, frameRate: Int, from network: String?, ownWidth: Int, at now: MediaTime
  ) -> Int {
    func distance(_ group: Group) -> (Int, Int) {
      (abs(group.width - width), abs(group.frameRate - frameRate))
    }
    let nearest = self.groups.indices.min { distance(self.groups[$0]) < distance(self.groups[$1]) }
    func isDefault(_ width: Int, _ frameRate: Int) -> Bool {
      width == ownWidth && frameRate == Self.defaultFrameRate
    }
    if let nearest {
      if distance(self.groups[nearest]) == (0, 0) { return nearest }
      let others = self.groups.filter { !isDefault($0.width, $0.frameRate) }
      let own = network.map { network in others.count { $0.network == network } } ?? 0
      let isFull = others.count >= Self.maximumWidths || own >= Self.maximumWidthsOfNetwork
      if isFull, !isDefault(width, frameRate) { return nearest }
    }
    self.groups.append(Group(width: width, frameRate: frameRate, network: network, due: now))
    return self.groups.endIndex - 1
  }

  /// Removes a motion JPEG viewer; without effect when it was removed before.
  mutating func removeViewer(_ number: Int) {
    for index in self.groups.indices where self.groups[index].viewers.removeValue(forKey: number) != nil {
      self.statistics.viewers -= 1
      if self.groups[index].viewers.isEmpty { self.groups.remove(at: index) }
      return
    }
  }

  /// Whether to start a thread now: there is work and none runs.
  mutating func needsThread() -> Bool {
    guard !self.isThreadRunning, !self.snapshots.isEmpty || !self.groups.isEmpty else { return false }
    self.isThreadRunning = true
    return true
  }
}

// MARK: The pipeline and the thread

extension SnapshotRequests {
  /// Discards frames and images; an image that is being encoded is not kept.
  mutating func discardEarlier() {
    self.isDiscarded = true
    // The requested frame may be an earlier one.
    (self.output, self.requestedNumber, self.files) = (nil, nil, [])
    for index in self.groups.indices { self.groups[index].file = nil }
  }

  /// Accepts a frame from the pipeline, if one was requested.
  mutating func offer(_ output: OutputFrame) {
    guard self.requestedNumber != nil else { return }
    self.requestedNumber = nil
    self.output = output
  }

  /// Next step of the thread.
  mutating func nextStep(at now: MediaTime) -> Step {
    guard !self.hasEnded else { return self.endThread() }
    if let output = self.output.take() {
      let jobs = self.takeJobs(output, at: now)
      if !jobs.isEmpty { return .encode(output, jobs) }
    }
    guard !self.snapshots.isEmpty || !self.groups.isEmpty else {
      let end = self.lastDemand + Self.idleTime
      return now >= end ? self.endThread() : .wait(until: end)
    }
    self.lastDemand = now
    if now < self.restEnd { return .wait(until: self.restEnd) }
    let due = self.groups.filter { $0.due <= now }
    guard let number = self.snapshots.isEmpty ? due.map(\.number).min() : 0 else {
      return .wait(until: self.groups.map(\.due).min())
    }
    if let requestedNumber, requestedNumber <= number { return .wait(until: nil) }
    self.requestedNumber = number
    return .ask(after: number)
  }

  /// Notes an encoded image or a failure.
  ///
  /// - Returns: The viewers that get it; nil where the image must not be shown, and is requested again.
  mutating func finish(
    _ job: Job, of output: OutputFrame, _ answer: Answer
  ) -> [AsyncStream<ByteBuffer>.Continuation]? {
    guard !self.isDiscarded || self.hasEnded else {
      self.snapshots[job.width, default: []] += job.snapshots
      for index in self.groups.indices where self.groups[index].width == job.width {
        (self.groups[index].isPending, self.groups[index].number) = (false, 0)
      }
      return nil
    }
    if case .success(let bytes) = answer, job.file == nil, !self.hasEnded {
      self.statistics.imagesEncoded += 1
      self.files.removeAll { $0.width == job.width }
      if self.files.count >= Self.maximumKept { self.files.removeFirst() }
      self.files.append(File(width: job.width, number: output.number, time: output.time, bytes: bytes))
    }
    var viewers: [AsyncStream<ByteBuffer>.Continuation] = []
    for index in self.groups.indices where self.groups[index].width == job.width && self.groups[index].isPending {
      self.groups[index].isPending = false
      self.groups[index].file = try? answer.get()  // A file that cannot be encoded is not returned to later requests.
      viewers += self.groups[index].viewers.values
    }
    return viewers
  }

  /// Ends the work on a frame: the thread rests for as long as it took, so that it never uses more than half a core.
  mutating func rest(from start: MediaTime, to end: MediaTime) {
    self.statistics.encodeTime = self.statistics.encodeTime + (end - start)
    self.restEnd = end + (end - start)
    self.lastDemand = end
  }

  /// Removes and returns the due images of a frame, each width once.
  private mutating func takeJobs(_ output: OutputFrame, at now: MediaTime) -> [Job] {
    self.isDiscarded = false
    var jobs = self.snapshots.mapValues { $0 }.map { Job(width: $0.key, snapshots: $0.value) }
    (self.snapshots, self.requesters) = ([:], [:])
    for index in self.groups.indices where self.groups[index].due <= now && self.groups[index].number < output.number {
      let group = self.groups[index]
      let interval = MediaDuration.ticks(1, timescale: Int32(group.frameRate))
      self.groups[index].due = max(group.due + interval, now + interval / 2)
      self.groups[index].number = output.number
      self.groups[index].isPending = true
      if let job = jobs.firstIndex(where: { $0.width == group.width }) {
        jobs[job].isForViewers = true
      } else {
        jobs.append(Job(width: group.width, isForViewers: true))
      }
    }
    for index in jobs.indices {
      jobs[index].file = self.files.first { $0.width == jobs[index].width && $0.number == output.number }?.bytes
    }
    return jobs
  }

  private mutating func endThread() -> Step {
    self.isThreadRunning = false
    (self.output, self.requestedNumber, self.files) = (nil, nil, [])
    return .end
  }
}
