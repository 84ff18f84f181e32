internal import Media

/// Frames that wait for the pipeline: more than one only while the machine is briefly busy.
///
/// Drop policy: when four wait, the pipeline is too slow and all but the newest are dropped. From then on only the
/// newest waits, which keeps the latency minimal, until ``countToRecover`` frames have found the queue empty.
struct FrameQueue: Sendable {
  /// Maximum number of waiting frames while the pipeline keeps up: at 30 fps it may pause for 130 ms without a drop.
  static let capacity = 4
  /// Number of frames that must find the queue empty after a drop before more than one waits again.
  static let countToRecover = 30

  private(set) var frames: [SourceFrame] = []
  private var onTimeCount = Self.countToRecover

  /// Enqueues a frame.
  ///
  /// - Returns: The frames dropped for it.
  mutating func append(_ frame: SourceFrame) -> [SourceFrame] {
    let isKeepingUp = self.onTimeCount >= Self.countToRecover
    guard !self.frames.isEmpty else {
      self.onTimeCount = min(self.onTimeCount + 1, Self.countToRecover)
      self.frames.append(frame)
      return []
    }
    guard self.frames.count >= (isKeepingUp ? Self.capacity : 1) else {
      self.frames.append(frame)
      return []
    }
    self.onTimeCount = 0
    defer { self.frames = [frame] }
    return self.frames
  }

  /// Dequeues the oldest frame.
  mutating func popFirst() -> SourceFrame? {
    self.frames.isEmpty ? nil : self.frames.removeFirst()
  }

  /// Removes all frames.
  mutating func removeAll() -> [SourceFrame] {
    defer { self.frames.removeAll(keepingCapacity: true) }
    return self.frames
  }
}

/// Samples of a source that compresses its video, which wait while decoded frames are encoded: decides when the encoder is too slow.
///
/// Sources deliver bursts, and the machine is briefly busy: after a drop, only one sample may wait, which keeps the latency minimal, until
/// ``FrameQueue/countToRecover`` have come in time.
struct SampleBacklog {
  /// Maximum number of samples that may wait while the pipeline keeps up: as many frames wait in a ``FrameQueue``.
  private static let maximum = FrameQueue.capacity - 1

  /// Number of samples without others behind them since the last one that was too late to be encoded.
  private var timelySamples = FrameQueue.countToRecover

  /// Whether the frames of a sample with this number of others behind it are dropped.
  mutating func dropsFrames(_ count: Int) -> Bool {
    let isKeepingUp = self.timelySamples >= FrameQueue.countToRecover
    if count > (isKeepingUp ? Self.maximum : 1) {
      self.timelySamples = 0
      return true
    }
    if count == 0, !isKeepingUp { self.timelySamples += 1 }
    return false
  }
}
