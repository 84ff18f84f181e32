internal import CYUV
internal import Media

/// Searches frames completely, each round in all directions, and holds them back until their round is over.
struct PrivacySearch {
  /// Creates the detectors of a thread.
  typealias MakeDetect = @Sendable () -> DetectionThread.Detect

  /// A frame whose round is over.
  struct Result {
    var frame: EffectFrame
    /// Boxes to cover, in pixels of the frame; nil where the whole frame is to be covered.
    var boxes: [PrivacyCovers.Box]?
  }

  /// Counters of the supervision.
  struct Supervision: Hashable {
    /// Number of times that a thread was given up because it missed its deadline.
    var stalls = 0
    /// Number of times that the detector has failed.
    var failures = 0
    /// Whether the last batch was answered.
    var isAlive = true
  }

  /// Times that a frame waits for its search.
  struct Limits {
    /// For a frame among others: the frame rate falls to 10 per second before tiles are covered.
    var frame = MediaDuration.milliseconds(100)
    /// For a frame that is to be released at once, such as the first one.
    var complete = MediaDuration.seconds(2)
    /// For the run of a model that has begun before.
    var runTimeout = MediaDuration.milliseconds(400)
  }

  /// Interval of frames from which each is released at once.
  private static let slowInterval = MediaDuration.milliseconds(90)
  /// Time without a search before a frame by which the source, not the search, is what is slow.
  private static let idleTime = MediaDuration.milliseconds(60)
  /// Minimum time between two starts of a thread, after the first restart.
  private static let restartInterval = MediaDuration.seconds(1)

  let minimumFace: Float
  private let limits: Limits
  private let makeDetect: MakeDetect
  private(set) var supervision = Supervision()
  private var thread: DetectionThread?
  private var lastStart: MediaTime?

  private var size = SIMD2(0, 0)
  private var layout = PrivacyLayout(width: 16, height: 16)
  private var schedule = PrivacySchedule(isImmediate: [])
  private var covers = PrivacyCovers(minimumFace: 0)
  private var changes = FrameChanges(width: 1, height: 1)
  private var held: [EffectFrame] = []
  private var lastTime: MediaTime?
  /// How long the last search took.
  private var lastDuration = MediaDuration.zero

  // Memory that is reused from frame to frame.
  private var scaled = PixelBuffer(format: VideoFormat(width: 16, height: 16))
  private var samples = PixelBuffer(format: VideoFormat(width: 16, height: 16))
  private var turning: [Int: PixelBuffer] = [:]
  private var inputs: [Int: [PixelBuffer]] = [:]
  /// Number of the frame in which each block has changed; 0 for covered ones.
  private var visibleChanges: [Int] = []

  /// - Parameter minimumFace: Smallest face relative to the frame's shorter side.
  init(minimumFace: Float, limits: Limits = Limits(), makeDetect: @escaping MakeDetect) {
    (self.minimumFace, self.limits, self.makeDetect) = (minimumFace, limits, makeDetect)
  }

  /// Ends the thread.
  func stop() { self.thread?.stop() }

  /// Drops the frames that are held back, and forgets all that is known: frames are unrelated to the previous ones.
  mutating func reset() {
    self.size = SIMD2(0, 0)
    self.held = []
    self.lastStart = nil
  }

  /// Searches a frame.
  ///
  /// - Parameters:
  ///   - completes: Whether to search all of it now, so that it is not held back.
  /// - Returns: The frames whose round is over, oldest first.
  mutating func add(_ frame: EffectFrame, completes: Bool) -> [Result] {
    let time = frame.timestamp
    let isFirst = self.adapt(to: frame)
    let begin = ContinuousClock.now
    defer { self.lastDuration = MediaDuration(nanoseconds: Int64((ContinuousClock.now - begin) / .nanoseconds(1))) }
    let interval = self.lastTime.map { time - $0 }
    let isSlow = interval.map { $0 >= Self.slowInterval && $0 - self.lastDuration >= Self.idleTime } ?? true
    self.lastTime = time
    self.held.append(frame)
    self.scale(frame)
    self.noteVisibleChanges(at: time)
    let (layout, visible, columns) = (self.layout, self.visibleChanges, self.changes.columns)
    let completes = completes || isFirst || isSlow
    let batch = self.schedule.add(number: self.changes.number, time: time, completes: completes) { probe, since in
      Self.hasChanged(layout.probes[probe], since: since, visible, columns: columns)
    }
    self.run(batch, at: time, budget: frame.budget, completes: completes)

    var results: [Result] = []
    while let (_, uncertain) = self.schedule.release(completes: completes) {
      let frame = self.held.removeFirst()
      var boxes = self.covers.boxes(at: frame.timestamp)
      for probe in uncertain {
        let tile = layout.probes[probe].tile
        let low = SIMD2(Float(tile.x), Float(tile.y))
        boxes?.append(PrivacyCovers.Box(low: low, high: low + Float(tile.side)))
      }
      results.append(
        Result(
          frame: frame,
          boxes: boxes?.map { PrivacyCovers.Box(low: $0.low * layout.scale, high: $0.high * layout.scale) }))
    }
    return results
  }

  /// Resets the state for frames of another size, and when time goes back; returns whether it did.
  private mutating func adapt(to frame: EffectFrame) -> Bool {
    let size = SIMD2(frame.buffer.format.width, frame.buffer.format.height)
    let goesBack = self.lastTime.map { frame.timestamp < $0 } ?? false
    guard size != self.size || goesBack else { return false }
    if size != self.size {
      self.layout = PrivacyLayout(width: size.x, height: size.y, minimumFace: self.minimumFace)
      let (width, height) = (self.layout.width, self.layout.height)
      self.scaled = PixelBuffer(format: VideoFormat(width: width, height: height))
      self.samples = PixelBuffer(
        format: VideoFormat(width: (width + 1) / 2, height: (height + 1) / 2))
    }
    self.size = size
    self.schedule = PrivacySchedule(isImmediate: self.layout.probes.map(\.isImmediate))
    self.covers = PrivacyCovers(minimumFace: self.layout.minimumFace)
    self.changes = FrameChanges(width: self.samples.format.width, height: self.samples.format.height)
    self.held = []
    self.lastTime = nil
    return true
  }

  /// Scales the frame for the detectors, and further for the comparison with earlier frames.
  private mutating func scale(_ frame: EffectFrame) {
    let (from, to, small) = (
      Canvas(frame.buffer).pointers(), Canvas(self.scaled).pointers(), Canvas(self.samples).pointers()
    )
    let (width, height) = (Int32(self.layout.width), Int32(self.layout.height))
    _ = I420Scale(
      from.luma, from.lumaStride, from.cb, from.chromaStride, from.cr, from.chromaStride,
      Int32(frame.buffer.format.width), Int32(frame.buffer.format.height), to.luma, to.lumaStride, to.cb,
      to.chromaStride, to.cr, to.chromaStride, width, height, kFilterBox)
    ScalePlane(
      to.luma, to.lumaStride, width, height, small.luma, small.lumaStride, Int32(self.samples.format.width),
      Int32(self.samples.format.height), kFilterBox)
    self.changes.add(small.luma, stride: Int(small.lumaStride))
    withExtendedLifetime((frame.buffer, self.scaled, self.samples)) {}
  }

  /// Pixels of the scaled frame per block.
  private static let blockSide = 2 * FrameChanges.blockSide

  /// Covered blocks need no search: they are not shown.
  private mutating func noteVisibleChanges(at time: MediaTime) {
    self.visibleChanges = self.changes.changes
    let (columns, rows) = (self.changes.columns, self.changes.rows)
    for box in self.covers.boxes(at: time) ?? [] {
      let side = Float(Self.blockSide)
      func bounded(_ value: Float, _ limit: Int) -> Int { Int(max(0, min(value, Float(limit)))) }
      let left = bounded((box.low.x / side).rounded(.up), columns), right = bounded(box.high.x / side, columns)
      let top = bounded((box.low.y / side).rounded(.up), rows), bottom = bounded(box.high.y / side, rows)
      guard left < right, top < bottom else { continue }
      for row in top..<bottom {
        for column in left..<right { self.visibleChanges[row * columns + column] = 0 }
      }
    }
  }

  private static func hasChanged(
    _ probe: PrivacyLayout.Probe, since number: Int, _ visible: [Int], columns: Int
  ) -> Bool {
    let rows = visible.count / max(1, columns)
    let tile = probe.tile
    let left = max(0, tile.x / Self.blockSide), right = min(columns, (tile.x + tile.side - 1) / Self.blockSide + 1)
    let top = max(0, tile.y / Self.blockSide), bottom = min(rows, (tile.y + tile.side - 1) / Self.blockSide + 1)
    guard left < right, top < bottom else { return false }
    var count = 0
    return visible.withUnsafeBufferPointer { visible in
      for row in top..<bottom {
        for column in left..<right where visible[row * columns + column] > number { count += 1 }
        if count >= probe.tolerance { return true }
      }
      return false
    }
  }
}

// MARK: Models

extension PrivacySearch {
  private mutating func run(
    _ batch: PrivacySchedule.Batch, at time: MediaTime, budget: MediaDuration, completes: Bool
  ) {
    guard !batch.probes.isEmpty, let thread = self.startedThread(at: time) else { return }
    var counts: [Int: Int] = [:]
    var jobs: [DetectionThread.Job] = []
    for index in batch.probes {
      let probe = self.layout.probes[index]
      let side = probe.model.inputSide
      let input = self.input(side, counts[side, default: 0])
      counts[side, default: 0] += 1
      self.fill(input, probe)
      jobs.append(DetectionThread.Job(model: probe.model, input: input))
    }
    let limit = completes ? self.limits.complete : self.limits.frame
    let outcome = thread.run(
      &jobs, requiredCount: batch.requiredCount, optional: budget / 2, limit: limit, runTimeout: self.limits.runTimeout)
    var candidates: [FaceCandidate] = []
    var finished: [Int] = []
    for (index, job) in zip(batch.probes, jobs) {
      guard let found = job.found else { continue }
      finished.append(index)
      let probe = self.layout.probes[index]
      let side = Float(probe.tile.side)
      for candidate in found where candidate.size.max() >= probe.minimumSize && candidate.score >= probe.threshold {
        candidates.append(
          candidate.turnedBack(probe.orientation).moved(
            by: SIMD2(Float(probe.tile.x), Float(probe.tile.y)), scaledBy: SIMD2(side, side)))
      }
    }
    self.covers.add(candidates, at: time, from: self.schedule.held.first?.time ?? time)
    self.schedule.finish(finished)
    switch outcome {
    case .finished: self.supervision.isAlive = true
    case .late, .dead:
      // The thread may still read the frames of its jobs.
      (self.thread, self.inputs) = (nil, [:])
      self.supervision.isAlive = false
      if case .late = outcome { self.supervision.stalls += 1 } else { self.supervision.failures += 1 }
    }
  }

  private mutating func startedThread(at time: MediaTime) -> DetectionThread? {
    if let thread { return thread }
    if let lastStart, self.supervision.stalls + self.supervision.failures > 1, time >= lastStart,
      time - lastStart < Self.restartInterval
    {
      return nil
    }
    self.lastStart = time
    let thread = DetectionThread(detect: self.makeDetect())
    self.thread = thread
    return thread
  }

  private mutating func input(_ side: Int, _ index: Int) -> PixelBuffer {
    while self.inputs[side, default: []].count <= index {
      self.inputs[side, default: []].append(PixelBuffer(format: VideoFormat(width: side, height: side)))
    }
    return self.inputs[side, default: []][index]
  }

  /// Scales and rotates a tile of the scaled frame to a model's input.
  private mutating func fill(_ input: PixelBuffer, _ probe: PrivacyLayout.Probe) {
    let side = probe.model.inputSide
    let target: PixelBuffer
    if probe.orientation == .up {
      target = input
    } else if let memory = self.turning[side] {
      target = memory
    } else {
      target = PixelBuffer(format: VideoFormat(width: side, height: side))
      self.turning[side] = target
    }
    let tile = probe.tile
    let (width, height) = (self.layout.width, self.layout.height)
    // The part of the tile that lies in the frame, and where that is in the input.
    let left = max(0, tile.x), top = max(0, tile.y)
    let right = min(width, tile.x + tile.side), bottom = min(height, tile.y + tile.side)
    if right - left < tile.side || bottom - top < tile.side { target.cover() }
    func scaled(_ length: Int) -> Int { length * side / tile.side & ~1 }
    let (x, y) = (scaled(left - tile.x), scaled(top - tile.y))
    let (columns, rows) = (max(2, scaled(right - left)), max(2, scaled(bottom - top)))
    let (from, to) = (
      Canvas(self.scaled).pointers(x: left, y: top), Canvas(target).pointers(x: min(x, side - 2), y: min(y, side - 2))
    )
    _ = I420Scale(
      from.luma, from.lumaStride, from.cb, from.chromaStride, from.cr, from.chromaStride, Int32(right - left),
      Int32(bottom - top), to.luma, to.lumaStride, to.cb, to.chromaStride, to.cr, to.chromaStride,
      Int32(min(columns, side - x)), Int32(min(rows, side - y)), kFilterBox)
    let mode: RotationModeEnum
    switch probe.orientation {
    case .up: return
    case .right: mode = kRotate90
    case .down: mode = kRotate180
    case .left: mode = kRotate270
    }
    let (before, after) = (Canvas(target).pointers(), Canvas(input).pointers())
    _ = I420Rotate(
      before.luma, before.lumaStride, before.cb, before.chromaStride, before.cr, before.chromaStride, after.luma,
      after.lumaStride, after.cb, after.chromaStride, after.cr, after.chromaStride, Int32(side), Int32(side), mode)
    withExtendedLifetime((self.scaled, target, input)) {}
  }
}
