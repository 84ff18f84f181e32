internal import Media

// Runs, from a start or resumption to a pause or the end.
extension RecordingTimeline {
  mutating func startRun(at time: MediaTime) {
    self.phase = .running
    self.runStart = time
    self.fragmentStart = time
    self.videoReach = time
    if self.formats.isPending {
      self.formats.planPart(at: time)
      self.startPart(at: time)
    }
  }

  func place(of time: MediaTime) -> MediaTime {
    self.runPlace + (time - self.runStart)
  }

  mutating func endRunIfReached() {
    guard case .ending(let end, _) = self.phase else { return }
    // The tolerance covers rounding to each track's timescale.
    guard !self.hasVideo || self.videoReach >= end - .milliseconds(1) else { return }
    let audioEnd = self.hasVideo ? self.videoEnd(before: end) : end
    if !self.hasAudio || self.audioReach >= audioEnd - self.half { self.endRun() }
  }

  mutating func endRun() {
    guard case .ending(let limit, _) = self.phase else { return }
    var end = limit
    if self.hasVideo {
      end = self.videoEnd(before: limit)
      self.video.removeAll { $0.decodeTime >= limit }
      if self.hasAudio, self.audioReach < end - self.half, end - self.audioReach <= Self.trackTimeout {
        let first = self.video.first?.decodeTime
        self.video.removeAll { $0.decodeTime >= self.audioReach && $0.decodeTime != first }
        end = self.videoEnd(before: limit)
      }
    } else if self.audioReach < end {
      end = self.audioReach
    }
    while let change = self.formats.next.first, change.start < end {
      self.emitFragment(upTo: change.start, next: change.start)
      self.fragmentStart = change.start
      self.startPart(at: change.start)
    }
    self.emitFragment(upTo: end, next: nil)
    self.runPlace = max(self.runPlace, self.hasVideo ? self.place(of: end) : self.audioPlacement?.end ?? self.runPlace)
    self.clear()
    self.phase = .paused
  }

  /// End time of the last video frame before `time`.
  private func videoEnd(before time: MediaTime) -> MediaTime {
    guard let last = self.video.last(where: { $0.decodeTime < time }) else { return self.fragmentStart }
    let next = self.video.first { $0.decodeTime >= time }
    let end = last.decodeTime + max(last.duration, .milliseconds(1))
    return next.map { min($0.decodeTime, end) } ?? end
  }

  mutating func clear() {
    self.video = []
    self.audio = []
    self.videoReach = MediaTime(nanoseconds: .min)
    self.audioReach = MediaTime(nanoseconds: .min)
    self.isKeyframeRequested = false
    self.formats.forgetPlans()
  }
}
