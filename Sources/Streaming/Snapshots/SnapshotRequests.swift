internal import Codecs
internal import Media
internal import NIOCore

/// The last frame of the output, which the pipeline replaces, and what the snapshot thread does with it next: which images are
/// requested, in which size, and when. Pure: no clock or thread.
///
/// Bounded in concurrently requested sizes, groups of viewers and kept images.
struct SnapshotRequests {
  typealias Answer = Result<ByteBuffer, VidiconError>
  typealias SnapshotWaiter = @Sendable (Answer) -> Void

  /// Next step of the thread.
  enum Step {
    /// Ends the thread.
    case end
    /// Requests the current frame from the pipeline: there is none to encode.
    case ask
    /// Encodes images of a frame.
    case encode(OutputFrame, [Job])
    /// Waits for a change, at most until a time.
    case wait(until: MediaTime?)
  }

  /// Size of an image in pixels.
  struct ImageSize: Hashable {
    var width: Int
    var height: Int

    /// Size for a requested width, see ``JPEGEncoder/size(of:width:)``.
    init(of format: VideoFormat, width: Int?) {
      (self.width, self.height) = JPEGEncoder.size(of: format, width: width)
    }

    func distance(to other: ImageSize) -> Int { abs(self.width - other.width) + abs(self.height - other.height) }
  }

  /// One image to encode, and its waiters.
  struct Job {
    var size: ImageSize
    var snapshots: [SnapshotWaiter] = []
    /// Set when the frame was encoded in this size before.
    var file: ByteBuffer?
  }

  /// A motion JPEG viewer.
  struct Viewer: Sendable {
    /// Replaces the image that it has not taken yet.
    let show: @Sendable (MotionJPEGImage) -> Void
    /// Ends its images.
    let finish: @Sendable () -> Void

    /// A viewer that takes images from a stream, in a form that `image` makes of them.
    init<Image>(
      _ continuation: AsyncStream<Image>.Continuation, as image: @escaping @Sendable (MotionJPEGImage) -> Image
    ) {
      self.show = { continuation.yield(image($0)) }
      self.finish = { continuation.finish() }
    }
  }

  /// Motion JPEG viewers with the same parameters.
  struct Group {
    let size: ImageSize
    let frameRate: Int
    /// Network of the client that requested it first; nil for the program itself.
    let network: String?
    var viewers: [Int: Viewer] = [:]
    /// Due time of the next image.
    var due: MediaTime
    /// Number of the last frame shown.
    var number = 0
    var file: ByteBuffer?
    /// Whether its image is being encoded.
    var isPending = false
  }

  /// An encoded image, kept for requests with the same size.
  private struct File {
    let size: ImageSize
    let number: Int
    let time: MediaTime
    let bytes: ByteBuffer
  }

  /// Connection to an opened video pipeline.
  struct Source {
    let format: VideoFormat
    let frameInterval: MediaDuration
    /// Whether no frame will be output for a while.
    let isStill: @Sendable () -> Bool
    /// Requests the current frame, which the pipeline decodes where the source is passed through.
    let ask: @Sendable () -> Void
  }

  /// Maximum number of sizes in which snapshots are requested at a time, and of groups of viewers, the stream's own size
  /// (at the default rate) not counted.
  static let maximumSizes = 8
  /// Maximum number of these that clients of one network cause.
  static let maximumSizesOfNetwork = 2
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
  /// Number of times that frames have become private.
  private(set) var generation = 0
  private var isThreadRunning = false
  /// The last frame; nil before the first, where frames are private since, and while passed-through frames are not decoded.
  private(set) var latest: OutputFrame?
  private var lastNumber = 0
  /// Whether the current frame was requested from the pipeline, and was not shown since.
  private(set) var isAsked = false
  private var snapshots: [ImageSize: [SnapshotWaiter]] = [:]
  /// Networks of the clients that requested the sizes of ``snapshots`` first.
  private var requesters: [ImageSize: String] = [:]
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
  mutating func end() -> (snapshots: [SnapshotWaiter], viewers: [Viewer]) {
    self.hasEnded = true
    self.source = nil
    (self.latest, self.files) = (nil, [])
    return self.dequeueAll()
  }

  /// Ends all requests, since no thread can be started; returns the waiters to answer.
  mutating func threadFailed() -> (snapshots: [SnapshotWaiter], viewers: [Viewer]) {
    self.isThreadRunning = false
    return self.dequeueAll()
  }

  private mutating func dequeueAll() -> (snapshots: [SnapshotWaiter], viewers: [Viewer]) {
    defer { (self.snapshots, self.groups, self.statistics.viewers) = ([:], [], 0) }
    return (self.snapshots.values.flatMap { $0 }, self.groups.flatMap(\.viewers.values))
  }
}

// MARK: Viewers

extension SnapshotRequests {
  /// Requests an image at most a frame interval old.
  ///
  /// - Parameters:
  ///   - shape: Format that has the image's aspect ratio and maximum size: that of a rendition; nil for the stream's.
  ///   - network: Network of the client; nil for the program itself.
  ///   - waiter: Kept until there is one, when nil is returned.
  mutating func addSnapshot(
    width: Int?, shape: VideoFormat? = nil, from network: String? = nil, at now: MediaTime,
    _ waiter: @escaping SnapshotWaiter
  ) -> Answer? {
    guard let source = self.source else { return .failure(VidiconError.streamHasNoFrame) }
    let ownSize = ImageSize(of: source.format, width: nil)
    let size = ImageSize(of: shape ?? source.format, width: width)
    if let file = self.files.first(where: { $0.size == size }), now - file.time <= source.frameInterval {
      return .success(file.bytes)
    }
    if self.snapshots[size] == nil, size != ownSize {
      let others = self.snapshots.keys.filter { $0 != ownSize }
      let own = network.map { network in others.count { self.requesters[$0] == network } } ?? 0
      guard others.count < Self.maximumSizes, own < Self.maximumSizesOfNetwork else {
        return .failure(.tooManySnapshotWidths)
      }
      self.requesters[size] = network
    }
    self.snapshots[size, default: []].append(waiter)
    return nil
  }

  /// Adds a motion JPEG viewer, which gets the current image of its group at once.
  ///
  /// - Returns: A number by which to remove the viewer; nil when the stream shows none.
  mutating func addViewer(
    width: Int?, shape: VideoFormat? = nil, frameRate: Int, from network: String? = nil, at now: MediaTime,
    _ viewer: Viewer
  ) -> Int? {
    guard let source = self.source else { return nil }
    let size = ImageSize(of: shape ?? source.format, width: width)
    let frameRate = min(max(frameRate, 1), 30)
    let ownSize = ImageSize(of: source.format, width: nil)
    let index = self.group(size: size, frameRate: frameRate, from: network, ownSize: ownSize, at: now)
    self.lastViewer += 1
    self.groups[index].viewers[self.lastViewer] = viewer
    if let file = self.groups[index].file { viewer.show(MotionJPEGImage(file: file, generation: self.generation)) }
    self.statistics.viewers += 1
    return self.lastViewer
  }

  /// The group with these parameters; a new one; or, at the maximum, the most similar one.
  private mutating func group(
    size: ImageSize, frameRate: Int, from network: String?, ownSize: ImageSize, at now: MediaTime
  ) -> Int {
    func distance(_ group: Group) -> (Int, Int) {
      (group.size.distance(to: size), abs(group.frameRate - frameRate))
    }
    let nearest = self.groups.indices.min { distance(self.groups[$0]) < distance(self.groups[$1]) }
    func isDefault(_ size: ImageSize, _ frameRate: Int) -> Bool {
      size == ownSize && frameRate == Self.defaultFrameRate
    }
    if let nearest {
      if distance(self.groups[nearest]) == (0, 0) { return nearest }
      let others = self.groups.filter { !isDefault($0.size, $0.frameRate) }
      let own = network.map { network in others.count { $0.network == network } } ?? 0
      let isFull = others.count >= Self.maximumSizes || own >= Self.maximumSizesOfNetwork
      if isFull, !isDefault(size, frameRate) { return nearest }
    }
    self.groups.append(Group(size: size, frameRate: frameRate, network: network, due: now))
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

// MARK: The pipeline

extension SnapshotRequests {
  /// Keeps a frame, in place of the last one; one that was in the effects when frames became private is not shown.
  ///
  /// - Parameter generation: `RenditionSet.generation` before the frame was released.
  mutating func show(_ frame: ReleasedFrame, generation: Int, at now: MediaTime) {
    self.lastNumber += 1
    guard !self.hasEnded, generation >= self.generation else { return }
    self.latest = OutputFrame(number: self.lastNumber, released: frame, generation: generation, time: now)
    self.isAsked = false
  }

  /// Records that the output goes on without a frame to show: an access unit was passed through.
  ///
  /// - Returns: Whether it is to be decoded and shown; otherwise the last frame is forgotten, which viewers no longer see.
  mutating func passThrough() -> Bool {
    if !self.isThreadRunning { self.latest = nil }
    return self.isThreadRunning
  }

  /// Replaces the memory of a frame, if that is still the last one.
  mutating func replace(_ number: Int, with copy: ReleasedFrame) {
    if self.latest?.number == number { self.latest?.released = copy }
  }

  /// Forgets the last frame.
  mutating func forgetLatest() {
    self.latest = nil
  }

  /// Discards frames and images of earlier generations; an image that is being encoded is not kept.
  mutating func discardEarlier(to generation: Int) {
    self.generation = generation
    if let latest, latest.generation < generation { self.latest = nil }
    // A frame that was requested may have been an earlier one.
    (self.isAsked, self.files) = (false, [])
    for index in self.groups.indices { self.groups[index].file = nil }
  }
}

// MARK: The thread

extension SnapshotRequests {
  /// Next step of the thread.
  mutating func nextStep(at now: MediaTime) -> Step {
    guard !self.hasEnded, let source = self.source else { return self.endThread() }
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
    guard let latest else {
      defer { self.isAsked = true }
      return self.isAsked ? .wait(until: nil) : .ask
    }
    guard latest.number > number else {
      return .wait(until: self.groups.map(\.due).filter { $0 > now }.min())
    }
    // A frame that is a little late is waited for, until it is overdue by an interval; that of a slow source is not.
    let overdueTime = latest.time + source.frameInterval * 2
    guard now - latest.time <= source.frameInterval || now >= overdueTime || source.isStill() else {
      return .wait(until: overdueTime)
    }
    return .encode(latest, self.takeJobs(latest, at: now))
  }

  /// Completes a job with an encoded image or a failure.
  ///
  /// - Parameter answer: A failure on return where the image must not be shown, and the stream has ended.
  /// - Returns: The viewers that get it, as an image of this generation; nil where the image must not be shown, and is requested again.
  mutating func finish(
    _ job: Job, of output: OutputFrame, _ answer: inout Answer
  ) -> (viewers: [Viewer], generation: Int)? {
    guard output.generation >= self.generation else {
      if self.hasEnded {
        answer = .failure(VidiconError.streamHasNoFrame)
        return ([], self.generation)
      }
      self.snapshots[job.size, default: []] += job.snapshots
      for index in self.groups.indices where self.groups[index].size == job.size {
        (self.groups[index].isPending, self.groups[index].number) = (false, 0)
      }
      return nil
    }
    if case .success(let bytes) = answer, job.file == nil, !self.hasEnded {
      self.statistics.imagesEncoded += 1
      self.files.removeAll { $0.size == job.size }
      if self.files.count >= Self.maximumKept { self.files.removeFirst() }
      self.files.append(File(size: job.size, number: output.number, time: output.time, bytes: bytes))
    }
    var viewers: [Viewer] = []
    for index in self.groups.indices where self.groups[index].size == job.size && self.groups[index].isPending {
      self.groups[index].isPending = false
      self.groups[index].file = try? answer.get()  // A file that cannot be encoded is not returned to later requests.
      viewers += self.groups[index].viewers.values
    }
    return (viewers, self.generation)
  }

  /// Ends the work on a frame: the thread rests for as long as it took, so that it never uses more than half a core.
  mutating func rest(from start: MediaTime, to end: MediaTime) {
    self.statistics.encodeTime = self.statistics.encodeTime + (end - start)
    self.restEnd = end + (end - start)
    self.lastDemand = end
  }

  /// Removes and returns the due images of a frame, each size once.
  private mutating func takeJobs(_ output: OutputFrame, at now: MediaTime) -> [Job] {
    var jobs = self.snapshots.mapValues { $0 }.map { Job(size: $0.key, snapshots: $0.value) }
    (self.snapshots, self.requesters) = ([:], [:])
    for index in self.groups.indices where self.groups[index].due <= now && self.groups[index].number < output.number {
      let group = self.groups[index]
      let interval = MediaDuration.ticks(1, timescale: Int32(group.frameRate))
      self.groups[index].due = max(group.due + interval, now + interval / 2)
      self.groups[index].number = output.number
      self.groups[index].isPending = true
      if !jobs.contains(where: { $0.size == group.size }) { jobs.append(Job(size: group.size)) }
    }
    for index in jobs.indices {
      jobs[index].file = self.files.first { $0.size == jobs[index].size && $0.number == output.number }?.bytes
    }
    return jobs
  }

  private mutating func endThread() -> Step {
    (self.isThreadRunning, self.isAsked, self.files) = (false, false, [])
    return .end
  }
}
