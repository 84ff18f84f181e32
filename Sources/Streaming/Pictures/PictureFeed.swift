internal import Media

/// The pipeline's end of the way to those who look at single pictures: keeps the one that the viewers see, and hands it
/// over when it is asked for.
///
/// The picture is handed over by reference: its memory is used again only when nobody refers to it any more, and one
/// picture more, for as long as a JPEG takes to make, is what every pool has to spare. While nobody asks, a picture costs
/// one look at an atomic flag.
struct PictureFeed {
  /// When the picture shown is handed over even if no newer one has come; nil when that is not asked for.
  private(set) var deadline: MediaTime?

  private let frameInterval: MediaDuration
  private var shown: ShownPicture?

  init(frameInterval: MediaDuration) {
    self.frameInterval = frameInterval
  }

  /// Told of each picture before it is encoded; returns it when it is to be handed over.
  mutating func show(_ frame: VideoFrame, at now: MediaTime, isWanted: Bool) -> ShownPicture? {
    let picture = ShownPicture(number: (self.shown?.number ?? 0) + 1, frame: frame, time: now)
    self.shown = picture
    guard isWanted else { return nil }
    self.deadline = nil
    return picture
  }

  /// Somebody wants a picture; returns the one shown, if it is at most a frame interval old, or if the next one will not
  /// come soon either. Else that one is waited for, until it is overdue by an interval.
  ///
  /// - Parameters:
  ///   - number: Only a picture after this one is of use.
  ///   - isStill: Whether no picture will be shown for a while.
  mutating func request(after number: Int, at now: MediaTime, isStill: Bool) -> ShownPicture? {
    guard let shown, shown.number > number else { return nil }
    let age = now - shown.time
    if isStill || age <= self.frameInterval || age > self.frameInterval * 2 {
      self.deadline = nil
      return shown
    }
    self.deadline = shown.time + self.frameInterval * 2
    return nil
  }

  /// Keeps the picture shown in memory of its own from now on.
  mutating func copyShown() {
    self.shown = self.shown.map { ShownPicture(number: $0.number, frame: $0.frame.copy, time: $0.time) }
  }

  /// Returns the picture shown when the next one is overdue.
  mutating func handleDeadline(at now: MediaTime) -> ShownPicture? {
    guard let deadline, now >= deadline else { return nil }
    self.deadline = nil
    return self.shown
  }
}
