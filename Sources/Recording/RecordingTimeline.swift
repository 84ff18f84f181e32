internal import Containers
internal import Media
internal import NIOCore

/// Decides which samples of a stream are recorded, their presentation times, and where fragments and parts end. Pure:
/// no clock and no file; times are arguments.
///
/// A recording consists of runs, from a start or resumption to a pause or the end. A run begins at a keyframe and
/// follows the end of the previous run, so that a pause leaves neither a gap nor a frozen frame:
///
/// ```
/// stream     K p p p p K p p | p p K p p | K p p p
/// recording  K p p p p K p p . . . . . . . K p p p
///                            pause         resumption
/// ```
///
/// Audio frames are contiguous to the sample and about 20 ms long: where a run begins, audio continues with the first
/// frame that starts less than half a frame before its position. Audio and video are therefore at most half a frame
/// apart after any number of pauses, since each position is computed from the video frame again.
///
/// Samples are retained until both tracks have reached the end of a fragment, which is then emitted as a whole; at the
/// end of a run, video frames without audio are dropped, so that both tracks have the same duration.
struct RecordingTimeline {
  /// Actions for the writer, in order.
  enum Action {
    /// Request a keyframe as the next video sample.
    case requestKeyframe
    /// Write a fragment.
    case fragment(PartFragment)
    /// Begin another file, with tracks of these formats, for the samples that follow.
    case nextPart([CodecDescription])
  }

  /// Maximum sizes of parts and of the recording.
  struct Limits: Equatable {
    var duration: MediaDuration?
    var byteCount: Int?
    /// Total duration of all parts, after which the recording ends.
    var total: MediaDuration?
  }

  private enum Phase {
    /// Waiting for a keyframe captured at `since` or later, at which the next run begins.
    case waiting(since: MediaTime)
    case running
    /// Waiting for the samples before `at`, at most until `deadline`.
    case ending(at: MediaTime, deadline: MediaTime)
    case paused
  }

  /// Duration of a fragment; up to a quarter shorter when a keyframe arrives then.
  static let fragmentDuration = MediaDuration.seconds(1)
  /// Maximum time that one track waits for the other.
  static let trackTimeout = MediaDuration.seconds(1)
  /// Maximum duration of audio retained while waiting for a keyframe.
  private static let retainedAudio = MediaDuration.seconds(5)
  /// Maximum number of samples of a part: the table limit of a finished file, with a margin for a late keyframe.
  private static let maximumSampleCount = ProgressiveMP4.maximumSampleCount / 2

  private let limits: Limits
  private let hasVideo: Bool
  private var formats: PartFormats
  private var audioPlacement: AudioPlacement?

  private var phase = Phase.paused
  private var video: [EncodedSample] = []
  private var audio: [EncodedSample] = []
  /// End of the received video, on the stream's clock.
  private var videoReach = MediaTime(nanoseconds: .min)
  private var audioReach = MediaTime(nanoseconds: .min)

  /// Start of the run, on the stream's clock.
  private var runStart = MediaTime.zero
  private var runPlace = MediaTime.zero
  /// Start of the fragment, on the stream's clock.
  private var fragmentStart = MediaTime.zero

  /// Bytes of all samples of this part, retained ones included.
  private var partByteCount = 0
  private var partSampleCount = 0
  private var fragmentByteCount = 0
  private var isKeyframeRequested = false
  /// Whether the part has come near to its limit of bytes. It stays so when the next fragment, and so the margin, is smaller.
  private var isNearByteLimit = false
  /// Duration of the previous parts.
  private var pastDuration = MediaDuration.zero
  /// Whether ``Limits/total`` is reached and everything is emitted.
  var isOver: Bool { self.isTotalReached && self.isPaused }
  private var isTotalReached = false
  private var actions: [Action] = []

  /// Creates a timeline that waits for ``resume(at:)``.
  init(_ descriptions: [CodecDescription], limits: Limits = Limits()) {
    self.limits = limits
    self.hasVideo = descriptions.contains { $0.kind == .video }
    self.formats = PartFormats(descriptions)
    self.audioPlacement = self.formats.audio.map { AudioPlacement($0) }
  }

  private var hasAudio: Bool { self.audioPlacement != nil }
  private var half: MediaDuration { self.audioPlacement?.halfFrame ?? .zero }

  /// Duration of the current part so far.
  var duration: MediaDuration {
    guard self.isRunning else { return self.runPlace - .zero }
    return max(self.runPlace, self.place(of: self.hasVideo ? self.videoReach : self.audioReach)) - .zero
  }

  /// Duration of all parts so far.
  var totalDuration: MediaDuration { self.pastDuration + self.duration }

  /// Whether samples are recorded now.
  var isRunning: Bool {
    switch self.phase {
    case .running, .ending: true
    case .waiting, .paused: false
    }
  }

  /// Whether the timeline is paused and every sample is emitted.
  var isPaused: Bool {
    if case .paused = self.phase { true } else { false }
  }

  /// Number of samples not yet emitted.
  var pendingSampleCount: Int { self.video.count + self.audio.count }

  /// Time at which ``handleDeadline(at:)`` is due.
  var deadline: MediaTime? {
    if case .ending(_, let deadline) = self.phase { deadline } else { nil }
  }

  /// Removes and returns the pending actions.
  mutating func takeActions() -> [Action] {
    defer { self.actions = [] }
    return self.actions
  }
}

// MARK: - Events
extension RecordingTimeline {
  /// Begins a run at the next keyframe captured at `time` or later; no effect during a run.
  mutating func resume(at time: MediaTime) {
    guard !self.isTotalReached else { return }
    if case .ending = self.phase { self.endRun() }
    guard case .paused = self.phase else { return }
    self.phase = .waiting(since: time)
    if self.hasVideo { self.actions.append(.requestKeyframe) }
  }

  /// Ends the run with the last sample captured before `time`, once that sample has arrived.
  mutating func pause(at time: MediaTime, now: MediaTime) {
    switch self.phase {
    case .paused, .ending: return
    case .waiting:
      self.clear()
      self.phase = .paused
    case .running:
      self.phase = .ending(at: time, deadline: now + Self.trackTimeout)
      self.endRunIfReached()
    }
  }

  /// Ends the run with the samples that have arrived.
  mutating func interrupt() {
    switch self.phase {
    case .paused: return
    case .waiting:
      self.clear()
      self.phase = .paused
    case .running:
      self.phase = .ending(at: MediaTime(nanoseconds: .max), deadline: .zero)
      self.endRun()
    case .ending:
      self.endRun()
    }
  }

  /// Records that the following samples of a track have another format: the next keyframe begins another part.
  mutating func change(to description: CodecDescription) {
    guard self.formats.change(to: description), description.kind == .audio, self.hasVideo, self.isRunning else {
      return
    }
    self.actions.append(.requestKeyframe)
  }

  /// Ends the wait for missing samples when the deadline has passed.
  mutating func handleDeadline(at now: MediaTime) {
    if let deadline, now >= deadline { self.endRun() }
  }

  /// Processes a sample of the stream.
  mutating func handle(_ sample: EncodedSample, now: MediaTime) {
    switch (sample.kind, self.phase) {
    case (_, .paused): return
    case (.video, _) where !self.hasVideo, (.audio, _) where !self.hasAudio: return
    case (.video, .waiting(let since)):
      guard sample.isKeyframe, sample.decodeTime >= since else { return }
      self.startRun(at: sample.decodeTime)
    case (.audio, .waiting(let since)) where !self.hasVideo:
      guard sample.presentationTime >= since else { return }
      self.startRun(at: sample.presentationTime)
    default: break
    }
    if sample.kind == .audio { self.formats.noteAudio(at: sample.presentationTime) }
    if self.formats.isPending, self.isRunning, (sample.kind == .video) == self.hasVideo {
      if sample.isKeyframe {
        self.formats.planPart(at: sample.decodeTime)
      } else if self.formats.isVideoPending {
        return
      }
    }
    switch sample.kind {
    case .video:
      // An MP4 track needs ascending decode times; a sample before its predecessor is dropped.
      guard self.video.last.map({ $0.decodeTime < sample.decodeTime }) ?? true else { return }
      self.video.append(sample)
      self.videoReach = max(self.videoReach, sample.decodeTime + sample.duration)
    case .audio:
      self.audio.append(sample)
      self.audioReach = max(self.audioReach, sample.presentationTime + sample.duration)
    }
    switch self.phase {
    case .waiting:
      let reach = self.audioReach
      self.audio.removeFirst { reach - $0.presentationTime > Self.retainedAudio }
    case .running:
      self.partByteCount += Self.byteCount(sample)
      self.partSampleCount += 1
      self.cutFragments()
      self.requestNextPart()
      self.endAtTotal(now: now)
    case .ending: self.endRunIfReached()
    case .paused: break
    }
  }
}

// MARK: - Runs
extension RecordingTimeline {
  private mutating func startRun(at time: MediaTime) {
    self.phase = .running
    self.runStart = time
    self.fragmentStart = time
    self.videoReach = time
    if self.formats.isPending {
      self.formats.planPart(at: time)
      self.startPart(at: time)
    }
  }

  private func place(of time: MediaTime) -> MediaTime {
    self.runPlace + (time - self.runStart)
  }

  private mutating func endRunIfReached() {
    guard case .ending(let end, _) = self.phase else { return }
    // The tolerance covers rounding to each track's timescale.
    guard !self.hasVideo || self.videoReach >= end - .milliseconds(1) else { return }
    let audioEnd = self.hasVideo ? self.videoEnd(before: end) : end
    if !self.hasAudio || self.audioReach >= audioEnd - self.half { self.endRun() }
  }

  private mutating func endRun() {
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

  private mutating func clear() {
    self.video = []
    self.audio = []
    self.videoReach = MediaTime(nanoseconds: .min)
    self.audioReach = MediaTime(nanoseconds: .min)
    self.isKeyframeRequested = false
    self.formats.forgetPlans()
  }
}

// MARK: - Fragments and parts
extension RecordingTimeline {
  private mutating func cutFragments() {
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
  private mutating func emitFragment(upTo time: MediaTime, next: MediaTime?) {
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

  private mutating func requestNextPart() {
    if self.hasReachedByteMargin { self.isNearByteLimit = true }
    guard self.hasVideo, !self.isKeyframeRequested, self.isPartFull(at: self.videoReach) else { return }
    self.isKeyframeRequested = true
    self.actions.append(.requestKeyframe)
  }

  /// Bytes that a sample takes in the file, its table entries included.
  private static func byteCount(_ sample: EncodedSample) -> Int {
    sample.payload.readableBytes + Self.tableEntryByteCount
  }

  /// Bytes of the table entries of a sample.
  private static let tableEntryByteCount = 16

  private mutating func endAtTotal(now: MediaTime) {
    guard let total = self.limits.total, self.totalDuration >= total else { return }
    self.isTotalReached = true
    // The tolerance covers rounding; a video frame due exactly at the end is excluded.
    let end = self.runStart + (total - self.pastDuration - (self.runPlace - .zero)) - .milliseconds(1)
    self.pause(at: end, now: now)
  }

  /// Begins the part planned for `time`, or else another part of the same formats.
  private mutating func startPart(at time: MediaTime) {
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
  private mutating func beginPlannedPart() {
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
  fileprivate mutating func removeFirst(while condition: (EncodedSample) -> Bool) -> ArraySlice<EncodedSample> {
    let first = self.prefix(while: condition)
    self.removeFirst(first.count)
    return first
  }
}
