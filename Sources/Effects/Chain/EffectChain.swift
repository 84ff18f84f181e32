public import Media
internal import Synchronization

/// Effects in the order in which a stream's frames go through them.
///
/// The effects can be replaced at any time, by any thread: each frame goes through those that were there when its turn
/// began. An effect that stays keeps its state and statistics.
///
/// Each effect is called for each frame, also when those before it have used up the time: a logo that comes and goes is
/// worse than a late frame. What is too slow is counted, and reported once it is more than a rare exception. Where an effect
/// whose ``VideoEffect/isPrivacy`` is set throws, the frame is covered; to be late is no reason, since what it has drawn
/// belongs to this very frame.
public final class EffectChain: Sendable {
  private let entries: Mutex<[Entry]>

  /// A chain.
  public init(_ effects: [any VideoEffect] = []) {
    self.entries = Mutex(effects.map(Entry.init))
  }

  /// The effects, the first one first.
  public var effects: [any VideoEffect] {
    get { self.entries.withLock { $0 }.map(\.effect) }
    set {
      self.entries.withLock { entries in
        var old = entries
        entries = newValue.map { effect in
          guard let index = old.firstIndex(where: { $0.effect === effect }) else { return Entry(effect) }
          return old.remove(at: index)
        }
      }
    }
  }

  /// Whether there is none.
  public var isEmpty: Bool { self.entries.withLock { $0.isEmpty } }

  /// Frames come that have nothing in common with those before: each effect is prepared again.
  public func restart() {
    for entry in self.entries.withLock({ $0 }) { entry.progress.withLock { $0.format = nil } }
  }

  /// What each effect has done, in their order.
  public var statistics: [EffectStatistics] {
    self.entries.withLock { $0 }.map { $0.progress.withLock(\.statistics) }
  }

  /// Result of processing a frame.
  public struct Outcome: Hashable, Sendable {
    /// Whether the frame is withheld from all outputs.
    public var isDropped = false
    /// Reports for the log: each effect's first failure, and once that it is slow.
    public var reports: [EffectReport] = []
  }

  /// Sends a frame through all effects. One thread at a time.
  ///
  /// - Parameters:
  ///   - frame: The frame, with the time for all effects as its budget.
  ///   - now: A clock that does not go back.
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
      var hasReportedFailure = false
      var hasReportedOverrun = false
    }

    /// The first frames of a model take longer, and a busy machine holds up a frame now and then.
    private static let toleratedOverruns = 10

    let effect: any VideoEffect
    let progress: Mutex<Progress>

    init(_ effect: any VideoEffect) {
      self.effect = effect
      self.progress = Mutex(Progress(statistics: EffectStatistics(name: effect.name)))
    }

    /// Whether the frame is still there afterwards, and when that is.
    func process(
      _ frame: inout EffectFrame, from start: MediaTime, now: () -> MediaTime, reports: inout [EffectReport]
    ) -> (Bool, MediaTime) {
      // Kept apart, since an effect may put another frame in place of the whole.
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
        progress.statistics.longestTime = max(progress.statistics.longestTime, took)
        if verdict == .drop { progress.statistics.drops += 1 }
        if verdict == .cover { progress.statistics.covers += 1 }
        if let failure {
          progress.statistics.failures += 1
          if !progress.hasReportedFailure {
            reports.append(EffectReport(name: progress.statistics.name, kind: .failed(cause: failure)))
          }
          progress.hasReportedFailure = true
        }
        if took > budget {
          progress.statistics.overruns += 1
          // Where nothing was left it is one before that is slow.
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
  /// Whether a frame of this format can go on instead of one of another.
  fileprivate func canReplace(_ other: VideoFormat) -> Bool {
    self.width == other.width && self.height == other.height && self.pixelFormat == .i420
  }
}

extension PixelBuffer {
  /// Makes an I420 frame a plain, dark one.
  func cover() {
    for plane in 0..<3 {
      self.unsafePlane(plane).initializeMemory(as: UInt8.self, repeating: plane == 0 ? 40 : 128)
    }
  }
}
