internal import Codecs
internal import Media
internal import NIOCore

/// Who wants pictures of a stream, of which width, and when; decides what the thread that makes them does next.
///
/// A value without clock and thread. Everything in it is bounded: widths that are asked for at once, groups of viewers,
/// files kept.
struct PictureRequests {
  typealias Answer = Result<ByteBuffer, VidiconError>
  typealias SnapshotWaiter = @Sendable (Answer) -> Void

  /// What the thread is to do.
  enum Step {
    /// Nothing more; it is to end.
    case end
    /// Ask the pipeline for a picture after the one of this number.
    case ask(after: Int)
    /// Make files of a picture.
    case encode(ShownPicture, [Job])
    /// Wait for a change, at most until a time.
    case wait(until: MediaTime?)
  }

  /// One file to make, and who waits for it.
  struct Job {
    var width: Int
    var snapshots: [SnapshotWaiter] = []
    /// Whether viewers of motion pictures wait for it.
    var isForViewers = false
    /// Set when the picture was made before in this width.
    var file: ByteBuffer?
  }

  /// Viewers of motion pictures with the same parameters.
  struct Group {
    let width: Int
    let frameRate: Int
    var viewers: [Int: AsyncStream<ByteBuffer>.Continuation] = [:]
    /// When the next picture is to be shown.
    var due: MediaTime
    /// The last picture shown.
    var number = 0
    var file: ByteBuffer?
    /// Whether its picture is being made.
    var isPending = false
  }

  /// A file that was made, for others who ask for the same.
  private struct File {
    let width: Int
    let number: Int
    let time: MediaTime
    let bytes: ByteBuffer
  }

  /// What the pipeline shows.
  struct Source {
    let format: VideoFormat
    let frameInterval: MediaDuration
    /// Tells the pipeline that a picture after the one of a number is wanted.
    let ask: @Sendable (_ number: Int) -> Void
  }

  /// The most widths that snapshots can be waited for in at once, and the most groups of viewers.
  static let maximumWidths = 8
  /// The most files, and encoders, that are kept.
  static let maximumKept = 4
  /// How long the thread waits for somebody to look before it ends.
  static let idleTime = MediaDuration.seconds(10)

  /// Nil before the pipeline has opened, and after its end.
  private(set) var source: Source?
  private(set) var statistics = PictureStatistics()
  private var hasEnded = false
  private var isThreadRunning = false
  /// The number given with the question that is open; nil when none is.
  private var asked: Int?
  private var picture: ShownPicture?
  private var snapshots: [Int: [SnapshotWaiter]] = [:]
  private var groups: [Group] = []
  private var files: [File] = []
  private var lastViewer = 0
  private var lastDemand = MediaTime.zero
  private var restEnd = MediaTime.zero

  /// The pipeline has opened.
  mutating func connect(_ source: Source) {
    if !self.hasEnded { self.source = source }
  }

  /// The stream is over: returns who is to be told.
  mutating func end() -> (snapshots: [SnapshotWaiter], viewers: [AsyncStream<ByteBuffer>.Continuation]) {
    self.hasEnded = true
    self.source = nil
    (self.picture, self.asked, self.files) = (nil, nil, [])
    return self.takeAll()
  }

  /// No thread can be started: returns who is to be told.
  mutating func threadFailed() -> (snapshots: [SnapshotWaiter], viewers: [AsyncStream<ByteBuffer>.Continuation]) {
    self.isThreadRunning = false
    return self.takeAll()
  }

  private mutating func takeAll() -> (snapshots: [SnapshotWaiter], viewers: [AsyncStream<ByteBuffer>.Continuation]) {
    defer { (self.snapshots, self.groups, self.statistics.viewers) = ([:], [], 0) }
    return (self.snapshots.values.flatMap { $0 }, self.groups.flatMap(\.viewers.values))
  }
}

// MARK: Those who look

extension PictureRequests {
  /// Someone wants a picture that is at most a frame interval old.
  ///
  /// - Parameter waiter: Kept until there is one, when nil is returned.
  mutating func addSnapshot(width: Int?, at now: MediaTime, _ waiter: @escaping SnapshotWaiter) -> Answer? {
    guard let source = self.source else { return .failure(VidiconError.streamHasNoFrame) }
    let width = JPEGEncoder.size(of: source.format, width: width).width
    if let file = self.files.first(where: { $0.width == width }), now - file.time <= source.frameInterval {
      return .success(file.bytes)
    }
    guard self.snapshots[width] != nil || self.snapshots.count < Self.maximumWidths else {
      return .failure(.tooManySnapshotWidths)
    }
    self.snapshots[width, default: []].append(waiter)
    return nil
  }

  /// Someone wants motion pictures; gets at once what the others see, if there are any with the same parameters.
  ///
  /// - Returns: A number by which to remove the viewer; nil when the stream shows none.
  mutating func addViewer(
    width: Int?, frameRate: Int, at now: MediaTime, _ viewer: AsyncStream<ByteBuffer>.Continuation
  ) -> Int? {
    guard let source = self.source else { return nil }
    let width = JPEGEncoder.size(of: source.format, width: width).width
    let frameRate = min(max(frameRate, 1), 30)
    let index = self.group(width: width, frameRate: frameRate, at: now)
    self.lastViewer += 1
    self.groups[index].viewers[self.lastViewer] = viewer
    if let file = self.groups[index].file { viewer.yield(file) }
    self.statistics.viewers += 1
    return self.lastViewer
  }

  /// The group with these parameters, a new one, or when there are as many as can be, that which is most like it.
  private mutating func group(width: Int, frameRate: Int, at now: MediaTime) -> Int {
    func distance(_ group: Group) -> (Int, Int) {
      (abs(group.width - width), abs(group.frameRate - frameRate))
    }
    let nearest = self.groups.indices.min { distance(self.groups[$0]) < distance(self.groups[$1]) }
    if let nearest, distance(self.groups[nearest]) == (0, 0) || self.groups.count >= Self.maximumWidths {
      return nearest
    }
    self.groups.append(Group(width: width, frameRate: frameRate, due: now))
    return self.groups.endIndex - 1
  }

  /// A viewer of motion pictures has gone; without effect when that is known.
  mutating func removeViewer(_ number: Int) {
    for index in self.groups.indices where self.groups[index].viewers.removeValue(forKey: number) != nil {
      self.statistics.viewers -= 1
      if self.groups[index].viewers.isEmpty { self.groups.remove(at: index) }
      return
    }
  }

  /// Whether a thread is to be started now, since there is something to do and none runs.
  mutating func needsThread() -> Bool {
    guard !self.isThreadRunning, !self.snapshots.isEmpty || !self.groups.isEmpty else { return false }
    self.isThreadRunning = true
    return true
  }
}

// MARK: The pipeline and the thread

extension PictureRequests {
  /// The pipeline hands over a picture; taken if it was asked for.
  mutating func offer(_ picture: ShownPicture) {
    guard self.asked != nil else { return }
    self.asked = nil
    self.picture = picture
  }

  /// What the thread is to do at a time.
  mutating func nextStep(at now: MediaTime) -> Step {
    guard !self.hasEnded else { return self.endThread() }
    if let picture = self.picture.take() {
      let jobs = self.takeJobs(picture, at: now)
      if !jobs.isEmpty { return .encode(picture, jobs) }
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
    if let asked, asked <= number { return .wait(until: nil) }
    self.asked = number
    return .ask(after: number)
  }

  /// A file is made, or cannot be; returns the viewers that get it.
  mutating func finish(
    _ job: Job, of picture: ShownPicture, _ answer: Answer
  ) -> [AsyncStream<ByteBuffer>.Continuation] {
    if case .success(let bytes) = answer, job.file == nil, !self.hasEnded {
      self.statistics.picturesEncoded += 1
      self.files.removeAll { $0.width == job.width }
      if self.files.count >= Self.maximumKept { self.files.removeFirst() }
      self.files.append(File(width: job.width, number: picture.number, time: picture.time, bytes: bytes))
    }
    var viewers: [AsyncStream<ByteBuffer>.Continuation] = []
    for index in self.groups.indices where self.groups[index].width == job.width && self.groups[index].isPending {
      self.groups[index].isPending = false
      self.groups[index].file = try? answer.get()  // One that cannot be made is not shown to those who come later.
      viewers += self.groups[index].viewers.values
    }
    return viewers
  }

  /// All files of a picture are made: the thread rests for as long as that took, so that it never takes more than half of
  /// a core from the encoder.
  mutating func rest(from start: MediaTime, to end: MediaTime) {
    self.statistics.encodeTime = self.statistics.encodeTime + (end - start)
    self.restEnd = end + (end - start)
    self.lastDemand = end
  }

  /// Takes out what is to be made of a picture, each width once.
  private mutating func takeJobs(_ picture: ShownPicture, at now: MediaTime) -> [Job] {
    var jobs = self.snapshots.mapValues { $0 }.map { Job(width: $0.key, snapshots: $0.value) }
    self.snapshots = [:]
    for index in self.groups.indices where self.groups[index].due <= now && self.groups[index].number < picture.number {
      let group = self.groups[index]
      let interval = MediaDuration.ticks(1, timescale: Int32(group.frameRate))
      self.groups[index].due = max(group.due + interval, now + interval / 2)
      self.groups[index].number = picture.number
      self.groups[index].isPending = true
      if let job = jobs.firstIndex(where: { $0.width == group.width }) {
        jobs[job].isForViewers = true
      } else {
        jobs.append(Job(width: group.width, isForViewers: true))
      }
    }
    for index in jobs.indices {
      jobs[index].file = self.files.first { $0.width == jobs[index].width && $0.number == picture.number }?.bytes
    }
    return jobs
  }

  private mutating func endThread() -> Step {
    self.isThreadRunning = false
    (self.picture, self.asked, self.files) = (nil, nil, [])
    return .end
  }
}
