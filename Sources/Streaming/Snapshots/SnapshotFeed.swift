internal import Codecs
internal import Effects
internal import Media

/// Pipeline side of snapshots: keeps the last output frame, and delivers it when it is requested.
///
/// The frame is delivered by reference: its buffer is reused once unreferenced, and every pool has one buffer to spare
/// while a JPEG is encoded. Without requests a frame costs one atomic load.
struct SnapshotFeed {
  /// Time at which the last frame is delivered even without a newer one; nil without a request.
  private(set) var deadline: MediaTime?

  private let frameInterval: MediaDuration
  private var shown: OutputFrame?
  /// Number of the last frame before ``discardEarlier()``.
  private var lastNumber = 0

  init(frameInterval: MediaDuration) {
    self.frameInterval = frameInterval
  }

  /// Records each frame before it is encoded; returns it when it is to be delivered.
  ///
  /// - Parameter generation: `RenditionSet.generation` before the frame was released.
  mutating func show(_ frame: ReleasedFrame, generation: Int, at now: MediaTime, isWanted: Bool) -> OutputFrame? {
    let output = OutputFrame(
      number: (self.shown?.number ?? self.lastNumber) + 1, released: frame, generation: generation, time: now)
    self.shown = output
    guard isWanted else { return nil }
    self.deadline = nil
    return output
  }

  /// Returns the last frame for a request if it is at most a frame interval old, or if the next one is not expected
  /// soon either. Otherwise the next one is waited for, until it is overdue by an interval.
  ///
  /// - Parameters:
  ///   - number: Only frames after this one are of use.
  ///   - isStill: Whether no frame will be output for a while.
  mutating func request(after number: Int, at now: MediaTime, isStill: Bool) -> OutputFrame? {
    guard let shown, shown.number > number else { return nil }
    let age = now - shown.time
    if isStill || age <= self.frameInterval || age > self.frameInterval * 2 {
      self.deadline = nil
      return shown
    }
    self.deadline = shown.time + self.frameInterval * 2
    return nil
  }

  /// Forgets the last frame; frames continue to be counted.
  mutating func discardEarlier() {
    self.lastNumber = self.shown?.number ?? self.lastNumber
    (self.shown, self.deadline) = (nil, nil)
  }

  /// Copies the last frame into memory of its own.
  mutating func copyLast() {
    self.shown = self.shown.map {
      OutputFrame(number: $0.number, released: $0.released.copy, generation: $0.generation, time: $0.time)
    }
  }

  /// Returns the last frame when the next one is overdue.
  mutating func handleDeadline(at now: MediaTime) -> OutputFrame? {
    guard let deadline, now >= deadline else { return nil }
    self.deadline = nil
    return self.shown
  }
}

/// A frame of the output, as viewers see it.
struct OutputFrame: Sendable {
  /// Counts output frames from 1.
  let number: Int
  /// In the stream's format.
  let released: ReleasedFrame
  /// Number of times that frames had become private before it was released.
  let generation: Int
  /// Time at which the frame was passed to the encoder.
  let time: MediaTime

  var frame: VideoFrame { self.released.frame }
}
