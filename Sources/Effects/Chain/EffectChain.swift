package import Codecs
public import Media
internal import Synchronization

/// Ordered list of effects that a stream's frames pass through.
///
/// The effects can be replaced at any time, on any thread; a frame passes through those that were set when its
/// processing began. An effect that is in both lists keeps its state and statistics.
///
/// Each effect is called for each frame, even when earlier ones have used up the time budget: an overlay that flickers
/// is worse than a late frame. Overruns are counted, and reported once they are frequent. Where an effect with
/// ``VideoEffect/isPrivacy`` throws, the frame is covered; being late is no reason to cover it, since the effect has
/// drawn on this very frame.
public final class EffectChain: Sendable {
  private let entries: Mutex<[Entry]>
  /// The holding effect that a frame is in; also after it was removed.
  private let running = Mutex<(any HoldingEffect)?>(nil)
  /// Whether the stream has ended.
  private let isCancelled = Atomic(false)

  /// Creates a chain of effects in the order of their application.
  public init(_ effects: [any VideoEffect] = []) {
    self.entries = Mutex(effects.map(Entry.init))
  }

  /// The effects in the order of their application; a change applies from the next frame on.
  public var effects: [any VideoEffect] {
    get { self.entries.withLock { $0 }.map(\.effect) }
    set { _ = self.change { $0 = newValue } }
  }

  /// Changes the effects in one step, so that no change on another thread is lost.
  ///
  /// - Returns: Whether frames are private from now on, and were not before.
  public func change(_ body: (inout [any VideoEffect]) -> Void) -> Bool {
    self.entries.withLock { entries in
      var effects = entries.map(\.effect)
      let wasPrivate = effects.contains { $0.isPrivacy }
      body(&effects)
      var old = entries
      entries = effects.map { effect in
        guard let index = old.firstIndex(where: { $0.effect === effect }) else { return Entry(effect) }
        return old.remove(at: index)
      }
      return !wasPrivate && effects.contains { $0.isPrivacy }
    }
  }

  /// Whether the chain has no effect.
  public var isEmpty: Bool { self.entries.withLock { $0.isEmpty } }

  /// Prepares all effects again, for frames unrelated to the previous ones.
  public func restart() {
    for entry in self.entries.withLock({ $0 }) { entry.progress.withLock { $0.format = nil } }
  }

  /// Ends what a frame waits for in an effect, at once: the stream has ended. Frames of a privacy effect are covered from now on.
  package func cancel() {
    self.isCancelled.store(true, ordering: .sequentiallyConsistent)
    for entry in self.entries.withLock({ $0 }) { (entry.effect as? any HoldingEffect)?.cancel() }
    self.running.withLock { $0 }?.cancel()
  }

  /// Statistics of each effect, in order.
  public var statistics: [EffectStatistics] {
    self.entries.withLock { $0 }.map { $0.progress.withLock(\.statistics) }
  }

  /// Result of processing a frame: whether it may be shown, and reports for the log.
  public struct Outcome: Hashable, Sendable {
    /// Whether an effect dropped the frame, which is withheld from all outputs.
    public var isDropped = false
    /// Reports for the log: each effect's first failure, and once that it is slow.
    public var reports: [EffectReport] = []
  }

  /// Frames that have passed all effects.
  package struct Progress {
    /// The frames, oldest first, with their metadata; a frame that an effect dropped has no pixels.
    package var frames: [(metadata: FrameMetadata, timestamp: MediaTime, released: ReleasedFrame?)] = []
    /// Failures and slowness of effects to report to the owner.
    package var reports: [EffectReport] = []
  }

  /// Processes a frame with all effects, of which a privacy effect may hold it back; returns the frames that may be shown
  /// now. Called by one thread at a time.
  ///
  /// - Parameters:
  ///   - frame: The frame; its budget is the time for all effects.
  ///   - completes: Whether no frame is to be held back.
  ///   - now: A monotonic clock.
  package func advance(_ frame: EffectFrame, completes: Bool, now: () -> MediaTime) -> Progress {
    let entries = self.entries.withLock { $0 }
    var progress = Progress()
    let clearance = entries.contains { $0.effect.isPrivacy } ? Clearance.awaited : .notPrivate
    self.advance(frame, clearance, through: entries[...], completes: completes, now: now, into: &progress)
    return progress
  }

  private func advance(
    _ frame: EffectFrame, _ clearance: Clearance, through entries: ArraySlice<Entry>, completes: Bool,
    now: () -> MediaTime, into progress: inout Progress
  ) {
    var (frame, clearance) = (frame, clearance)
    let budget = frame.budget
    let start = now()
    var before = start
    for (index, entry) in zip(entries.indices, entries) {
      frame.budget = max(.zero, budget - (before - start))
      guard let holding = entry.effect as? any HoldingEffect else {
        let isLeft: Bool
        (isLeft, before) = entry.process(&frame, from: before, now: now, reports: &progress.reports)
        // The following effects do not receive a dropped frame.
        guard isLeft else {
          progress.frames.append((frame.metadata, frame.timestamp, nil))
          return
        }
        if let mark = PrivacyMark(processedBy: entry.effect) { clearance = .marked(mark) }
        continue
      }
      // Before the chain's end is looked at: either side sees the other.
      self.running.withLock { $0 = holding }
      let held = entry.submit(
        frame, to: holding, completes: completes, from: before, now: now, reports: &progress.reports
      ) { self.isCancelled.load(ordering: .sequentiallyConsistent) }
      self.running.withLock { $0 = nil }
      for covered in held {
        self.advance(
          covered.frame, .marked(covered.mark), through: entries[(index + 1)...], completes: completes, now: now,
          into: &progress)
      }
      return
    }
    let shown = VideoFrame(buffer: frame.buffer, timestamp: frame.timestamp, captureLatency: frame.captureLatency)
    progress.frames.append((frame.metadata, frame.timestamp, clearance.release(shown)))
  }

  /// Processes a frame with all effects. Called by one thread at a time.
  ///
  /// - Parameters:
  ///   - frame: The frame; its budget is the time for all effects.
  ///   - now: A monotonic clock.
  public func process(_ frame: inout EffectFrame, now: () -> MediaTime) -> Outcome {
    let entries = self.entries.withLock { $0 }
    var outcome = Outcome()
    let budget = frame.budget
    let start = now()
    var before = start
    for entry in entries {
      frame.budget = max(.zero, budget - (before - start))
      let original = frame.buffer
      let isLeft: Bool
      (isLeft, before) = entry.process(&frame, from: before, now: now, reports: &outcome.reports)
      // The following effects do not receive a dropped frame.
      guard isLeft else {
        frame.buffer = original
        outcome.isDropped = true
        break
      }
    }
    frame.budget = max(.zero, budget - (before - start))
    return outcome
  }

  /// An effect of the chain with its statistics.
  private final class Entry: Sendable {
    struct Progress {
      var statistics: EffectStatistics
      var format: VideoFormat?
      /// Whether a failure was reported, and the number of frames without one since.
      var hasReportedFailure = false
      var framesSinceFailure = 0
      var hasReportedOverrun = false
    }

    /// Overruns before a report: the first run of a model takes longer, and a busy machine delays a frame
    /// occasionally.
    private static let toleratedOverruns = 10
    /// Number of frames without a failure after which the next one is reported again: a minute at 30 frames per second.
    private static let recoveredFrames = 1_800

    let effect: any VideoEffect
    let progress: Mutex<Progress>

    init(_ effect: any VideoEffect) {
      self.effect = effect
      self.progress = Mutex(Progress(statistics: EffectStatistics(name: effect.name)))
    }

    /// Processes a frame with this effect; returns whether the frame is kept, and the time afterwards.
    func process(
      _ frame: inout EffectFrame, from start: MediaTime, now: () -> MediaTime, reports: inout [EffectReport]
    ) -> (Bool, MediaTime) {
      // An effect may replace the whole frame: the original buffer is needed when it fails.
      let (original, budget) = (frame.buffer, frame.budget)
      self.prepare(for: original.format)
      var (verdict, cause) = (EffectVerdict.keep, String?.none)
      do {
        verdict = try self.effect.process(&frame)
        if !frame.buffer.format.canReplace(original.format) {
          frame.buffer = original
          cause = "it returned a frame of another size or pixel format"
        }
      } catch { cause = "\(error)" }
      let end = now()
      let took = end - start
      if self.effect.isPrivacy, cause != nil, verdict != .drop { verdict = .cover }
      if verdict == .cover { frame.buffer.cover() }
      self.note(verdict, took: took, budget: budget, failure: cause, reports: &reports)
      return (verdict != .drop, end)
    }

    /// Adds a frame to a holding effect; returns the frames that it passes on.
    func submit(
      _ frame: EffectFrame, to effect: any HoldingEffect, completes: Bool, from start: MediaTime, now: () -> MediaTime,
      reports: inout [EffectReport], isCancelled: () -> Bool
    ) -> [CoveredFrame] {
      self.prepare(for: frame.buffer.format)
      // The preparation allows a search again.
      if isCancelled() { effect.cancel() }
      let held = effect.submit(frame, completes: completes)
      let took = now() - start
      let covers = held.frames.count { $0.isWhole }
      self.progress.withLock {
        $0.statistics.covers += covers
        $0.statistics.detectionStalls += held.stalls
        $0.statistics.detectionFailures += held.failures
      }
      self.note(.keep, took: took, budget: frame.budget, failure: held.failure, reports: &reports)
      if let limit = held.limit { reports.append(EffectReport(name: effect.name, kind: .limited(cause: limit))) }
      return held.frames
    }

    private func prepare(for format: VideoFormat) {
      let isNew = self.progress.withLock { progress in
        defer { progress.format = format }
        guard let old = progress.format else { return true }
        return old != format
      }
      if isNew { self.effect.prepare(for: format) }
    }

    private func note(
      _ verdict: EffectVerdict, took: MediaDuration, budget: MediaDuration, failure: String?,
      reports: inout [EffectReport]
    ) {
      self.progress.withLock { progress in
        progress.statistics.frames += 1
        progress.statistics.time = progress.statistics.time + took
        progress.statistics.maximumTime = max(progress.statistics.maximumTime, took)
        if verdict == .drop { progress.statistics.drops += 1 }
        if verdict == .cover { progress.statistics.covers += 1 }
        progress.framesSinceFailure += 1
        if progress.framesSinceFailure > Self.recoveredFrames { progress.hasReportedFailure = false }
        if let failure {
          progress.framesSinceFailure = 0
          progress.statistics.failures += 1
          if !progress.hasReportedFailure {
            reports.append(EffectReport(name: progress.statistics.name, kind: .failed(cause: failure)))
          }
          progress.hasReportedFailure = true
        }
        if took > budget {
          progress.statistics.overruns += 1
          // Without a remaining budget the overrun was caused by an earlier effect.
          if !progress.hasReportedOverrun, progress.statistics.overruns >= Self.toleratedOverruns, budget > .zero {
            reports.append(EffectReport(name: progress.statistics.name, kind: .slow(took: took, budget: budget)))
            progress.hasReportedOverrun = true
          }
        }
      }
    }
  }
}

extension VideoFormat {
  /// Whether a frame of this format can replace one of another format.
  fileprivate func canReplace(_ other: VideoFormat) -> Bool {
    self.width == other.width && self.height == other.height && self.pixelFormat == .i420
  }
}

extension PixelBuffer {
  /// Fills an I420 frame with dark gray.
  func cover() {
    for plane in 0..<3 {
      self.unsafePlane(plane).initializeMemory(as: UInt8.self, repeating: plane == 0 ? 40 : 128)
    }
  }
}

/// Privacy effect that may hold frames back, to see what follows before they are shown.
protocol HoldingEffect: VideoEffect {
  /// Adds a frame; the effects after this one get the frames that it returns.
  ///
  /// - Parameter completes: Whether all frames are to be returned at once.
  func submit(_ frame: EffectFrame, completes: Bool) -> HeldFrames

  /// Ends ``submit(_:completes:)`` at once where it waits, on any thread: what was not searched is covered, in all frames until the
  /// effect is prepared for others.
  func cancel()
}

/// Frames that a ``HoldingEffect`` has covered and passes on.
struct HeldFrames {
  /// The frames, oldest first.
  var frames: [CoveredFrame] = []
  /// Searches for faces that missed their deadline, and that failed.
  var stalls = 0
  var failures = 0
  /// Description of the failure, for users.
  var failure: String?
  /// Limitation of the effect for these frames, for users; reported once for each size of frames.
  var limit: String?
}
