internal import Media

/// Pictures that wait for the pipeline: more than one only for a moment in which the machine has other things to do.
///
/// Drop rule: when four wait, the pipeline is not just held up but too slow, and all but the newest are dropped. From then
/// on the newest alone waits, so that no viewer is further behind than must be, until for a second's worth of pictures
/// none had to be dropped.
struct FrameQueue: Sendable {
  /// As many pictures wait while the pipeline keeps up: at 30 a second it may rest for 130 ms without a loss.
  static let capacity = 4
  /// As many pictures must find the queue empty after a loss before more than one waits again.
  static let countToRecover = 30

  private(set) var pictures: [SourcePicture] = []
  private var onTimeCount = Self.countToRecover

  /// Adds a picture.
  ///
  /// - Returns: Those that are dropped for it.
  mutating func append(_ picture: SourcePicture) -> [SourcePicture] {
    let isKeepingUp = self.onTimeCount >= Self.countToRecover
    guard !self.pictures.isEmpty else {
      self.onTimeCount = min(self.onTimeCount + 1, Self.countToRecover)
      self.pictures.append(picture)
      return []
    }
    guard self.pictures.count >= (isKeepingUp ? Self.capacity : 1) else {
      self.pictures.append(picture)
      return []
    }
    self.onTimeCount = 0
    defer { self.pictures = [picture] }
    return self.pictures
  }

  /// Takes the oldest one out.
  mutating func popFirst() -> SourcePicture? {
    self.pictures.isEmpty ? nil : self.pictures.removeFirst()
  }

  /// Takes all of them out.
  mutating func removeAll() -> [SourcePicture] {
    defer { self.pictures.removeAll(keepingCapacity: true) }
    return self.pictures
  }
}
