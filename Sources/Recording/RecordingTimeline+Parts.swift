internal import Media
internal import NIOCore

// Fragments, and the parts that they belong to.
extension RecordingTimeline {
  mutating func cutFragments() {
    while let (time, isKeyframe) = self.nextCut() {
      self.emitFragment(upTo: time, next: isKeyframe == nil ? nil : time)
      self.fragmentStart = time
      let isPlanned = self.formats.next.first?.start == time
      if isPlanned || self.isPartFull(at: time) && (isKeyframe ?? !self.hasVideo) { self.startPart(at: time) }
    }
  }

  /// End of the next fragment that both tracks have reached, and whether a keyframe follows; nil when no video frame
  /// follows.
  private func nextCut() -> (time: MediaTime, isKeyframe: Bool?)? {
    let planned = self.formats.next.first?.start
    // A fragment that begins a part may have no keyframe before it.
    let candidates = self.video.first?.decodeTime == planned ? self.video[...] : self.video.dropFirst()
    let nextFrame = candidates.first { frame in
      let length = frame.decodeTime - self.fragmentStart
      return length >= Self.fragmentDuration || frame.decodeTime == planned
        || frame.isKeyframe && (length >= Self.fragmentDuration * 3 / 4 || self.isPartFull(at: frame.decodeTime))
    }
    if let nextFrame {
      let time = nextFrame.decodeTime
      let isReached = !self.hasAudio || self.audioReach >= time - self.half
      if isReached || self.videoReach - max(self.audioReach, self.fragmentStart) > Self.trackTimeout {
        return (time, nextFrame.isKeyframe)
      }
    }
    if !self.hasVideo, let planned { return (planned, nil) }
    // Recordings without video, or whose video frames have stopped arriving.
    let maximum = self.hasVideo ? Self.fragmentDuration + Self.trackTimeout * 2 : Self.fragmentDuration
    guard self.hasAudio, nextFrame == nil, self.audioReach - self.fragmentStart >= maximum else { return nil }
    return (self.hasVideo ? max(self.videoReach, self.audioReach - Self.trackTimeout) : self.audioReach, nil)
  }

  /// Emits the samples before `time` as a fragment.
  mutating func emitFragment(upTo time: MediaTime, next: MediaTime?) {
    let frames = self.video.removeFirst { $0.decodeTime < time }
    let audioEnd = time - self.half
    let audioFrames = self.audio.removeFirst { $0.presentationTime < audioEnd }
    var samples: [EncodedSample] = []
    samples.reserveCapacity(frames.count + audioFrames.count)
    for var frame in frames {
      frame.presentationTime = self.place(of: frame.presentationTime)
      frame.decodeTime = self.place(of: frame.decodeTime)
      samples.append(frame)
    }
    for var audioFrame in audioFrames where self.formats.isCurrent(audioAt: audioFrame.presentationTime) {
      let wanted = self.place(of: audioFrame.presentationTime)
      guard let place = self.audioPlacement?.place(wanted) else { continue }
      audioFrame.presentationTime = place
      audioFrame.decodeTime = place
      samples.append(audioFrame)
    }
    guard !samples.isEmpty else { return }
    self.fragmentByteCount = samples.reduce(0) { $0 + Self.byteCount($1) }
    self.actions.append(.fragment(PartFragment(samples: samples, nextVideoTime: next.map(self.place))))
  }

  /// Whether the part ends at the first keyframe at `time` or later.
  private func isPartFull(at time: MediaTime) -> Bool {
    if let limit = self.limits.duration, self.place(of: time) - .zero >= limit { return true }
    // Leaves a margin for the second or so until the keyframe, and for boxes not counted here.
    if self.isNearByteLimit || self.hasReachedByteMargin { return true }
    return self.partSampleCount >= Self.maximumSampleCount
  }

  private var hasReachedByteMargin: Bool {
    self.limits.byteCount.map { self.partByteCount + 2 * self.fragmentByteCount >= $0 } ?? false
  }

  mutating func requestNextPart() {
    if self.hasReachedByteMargin { self.isNearByteLimit = true }
    guard self.hasVideo, !self.isKeyframeRequested, self.isPartFull(at: self.videoReach) else { return }
    self.isKeyframeRequested = true
    self.actions.append(.requestKeyframe)
  }

  /// Bytes that a sample takes in the file, its table entries included.
  static func byteCount(_ sample: EncodedSample) -> Int {
    sample.payload.readableBytes + Self.tableEntryByteCount
  }

  /// Bytes of the table entries of a sample.
  static let tableEntryByteCount = 16

  mutating func endAtTotal(now: MediaTime) {
    guard let total = self.limits.total, self.totalDuration >= total else { return }
    self.isTotalReached = true
    // The tolerance covers rounding; a video frame due exactly at the end is excluded.
    let end = self.runStart + (total - self.pastDuration - (self.runPlace - .zero)) - .milliseconds(1)
    self.pause(at: end, now: now)
  }

  /// Begins the part planned for `time`, or else another part of the same formats.
  mutating func startPart(at time: MediaTime) {
    if self.formats.next.first?.start == time { self.beginPlannedPart() } else { self.audioPlacement?.restart() }
    self.actions.append(.nextPart(self.formats.current))
    self.pastDuration = self.pastDuration + (self.place(of: time) - .zero)
    self.isKeyframeRequested = false
    self.isNearByteLimit = false
    self.runStart = time
    self.runPlace = .zero
    self.partByteCount = (self.video + self.audio).reduce(0) { $0 + Self.byteCount($1) }
    self.partSampleCount = 0
    self.fragmentByteCount = 0
  }
}

// MARK: - Full files
extension RecordingTimeline {
  /// Begins the current part at a later time, since its file is full: another file continues there.
  ///
  /// The total duration is unchanged, as are the samples that follow and their distances.
  ///
  /// - Parameters:
  ///   - cut: Times of the cut, relative to the part's start.
  ///   - fragments: Fragments behind the cut that were emitted.
  mutating func restartPart(at cut: PartTail.Cut, containing fragments: [PartFragment]) {
    self.movePart(by: cut.duration)
    self.audioPlacement?.restart(at: cut.audioStart)
    for fragment in fragments {
      self.partByteCount += fragment.byteCount + fragment.samples.count * Self.tableEntryByteCount
      self.partSampleCount += fragment.samples.count
    }
  }

  /// Begins another part of the same formats at the next keyframe, since the file is full and no other file could decode
  /// what follows.
  ///
  /// - Parameter end: End of the full file's samples, relative to the part's start. Later ones are dropped.
  mutating func restartPartAtKeyframe(after end: MediaTime) {
    self.movePart(by: end - .zero)
    self.audioPlacement?.restart()
    self.runPlace = .zero
    self.clear()
    self.partByteCount = 0
    guard case .running = self.phase else {
      if case .ending = self.phase { self.phase = .paused }
      return
    }
    self.phase = .paused
    self.resume(at: MediaTime(nanoseconds: .min))
  }

  private mutating func movePart(by duration: MediaDuration) {
    self.pastDuration = self.pastDuration + duration
    self.runPlace = self.runPlace - duration
    self.isKeyframeRequested = false
    self.isNearByteLimit = false
    self.partByteCount = (self.video + self.audio).reduce(0) { $0 + Self.byteCount($1) }
    self.partSampleCount = 0
  }
}

extension RecordingTimeline {
  mutating func beginPlannedPart() {
    let (audio, start) = (self.formats.audio, self.formats.latestAudioStart)
    self.formats.beginPlannedPart()
    // The new part cannot contain audio of the old format.
    if self.formats.audio != audio { self.audio.removeAll { $0.presentationTime < start } }
    self.audioPlacement = self.formats.audio.map { AudioPlacement($0) }
  }
}

extension [EncodedSample] {
  /// Removes and returns the leading samples that meet a condition.
  @discardableResult
  mutating func removeFirst(while condition: (EncodedSample) -> Bool) -> ArraySlice<EncodedSample> {
    let first = self.prefix(while: condition)
    self.removeFirst(first.count)
    return first
  }
}
