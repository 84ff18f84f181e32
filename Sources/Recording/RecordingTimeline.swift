internal import Containers
internal import Media
internal import NIOCore

/// Decides which samples of a stream are in a recording, when they are played there, and where fragments and parts are
/// cut. It has no clock and no file: time comes with the samples and the calls.
///
/// A recording is made of runs, from a start or resumption to a pause or the end. A run begins at a keyframe, and the
/// next one follows where it ended, so that a pause leaves neither a gap nor a frozen frame:
///
/// ```
/// stream     K p p p p K p p | p p K p p | K p p p
/// recording  K p p p p K p p . . . . . . . K p p p
///                            pause         resumption
/// ```
///
/// Audio frames follow one another to the sample, and are 20 ms long or so: where a run begins, the audio goes on with
/// the first frame that starts less than half a frame before its place. Audio and video are so never further apart
/// than half a frame, after any number of pauses, since each place is counted from the video frame again.
///
/// Samples are kept until both tracks have reached the end of a fragment, which is then emitted as a whole; at the
/// end of a run, video frames for which there is no audio any more are left out, so that the tracks are of one length.
struct RecordingTimeline {
  /// What is to be done, in this order.
  enum Action {
    /// The next video sample shall be a keyframe.
    case requestKeyframe
    /// A fragment of samples, their times counted from the part's start. The time is that of the video frame after the last
    /// one, where it is known.
    case fragment([EncodedSample], nextVideoTime: MediaTime?)
    /// What comes next belongs to another file, of tracks of these formats.
    case nextPart([CodecDescription])
  }

  /// Where parts end.
  struct Limits: Equatable {
    var duration: MediaDuration?
    var byteCount: Int?
    /// The length of all parts together, after which the recording is over.
    var total: MediaDuration?
  }

  private enum Phase {
    /// For the keyframe at which the next run begins, not captured before a time.
    case waiting(since: MediaTime)
    case running
    /// Until the samples up to a time have come, or the deadline has passed.
    case ending(at: MediaTime, deadline: MediaTime)
    case paused
  }

  /// The time that a fragment takes; a quarter less where a keyframe comes then.
  static let fragmentDuration = MediaDuration.seconds(1)
  /// How long one track may lag behind the other before it is waited for no longer.
  static let trackTimeout = MediaDuration.seconds(1)
  /// Audio that is kept while a keyframe is waited for.
  private static let retainedAudio = MediaDuration.seconds(5)
  /// Maximum number of samples of a part: what the tables of a finished file hold, with room for a keyframe that does not come.
  private static let maximumSampleCount = ProgressiveMP4.maximumSampleCount / 2

  private let limits: Limits
  private let hasVideo: Bool
  private var formats: PartFormats
  private var audioPlacement: AudioPlacement?

  private var phase = Phase.paused
  private var video: [EncodedSample] = []
  private var audio: [EncodedSample] = []
  /// Where the tracks have come to, on the stream's clock.
  private var videoReach = MediaTime(nanoseconds: .min)
  private var audioReach = MediaTime(nanoseconds: .min)

  /// Where the run starts on the stream's clock, and in the part.
  private var runStart = MediaTime.zero
  private var runPlace = MediaTime.zero
  /// Where the fragment starts, on the stream's clock.
  private var fragmentStart = MediaTime.zero

  /// Bytes of samples in this part, those that are kept included, and those of the last fragment.
  private var partByteCount = 0
  private var partSampleCount = 0
  private var fragmentByteCount = 0
  private var isKeyframeRequested = false
  /// The length of the parts before this one.
  private var pastDuration = MediaDuration.zero
  /// Whether ``Limits/total`` is reached, and everything emitted.
  var isOver: Bool { self.isTotalReached && self.isPaused }
  private var isTotalReached = false
  private var actions: [Action] = []

  /// A timeline that waits for ``resume(at:)``.
  init(_ descriptions: [CodecDescription], limits: Limits = Limits()) {
    self.limits = limits
    self.hasVideo = descriptions.contains { $0.kind == .video }
    self.formats = PartFormats(descriptions)
    self.audioPlacement = self.formats.audio.map { AudioPlacement($0) }
  }

  private var hasAudio: Bool { self.audioPlacement != nil }
  private var half: MediaDuration { self.audioPlacement?.halfFrame ?? .zero }

  /// The length of the part so far.
  var duration: MediaDuration {
    guard self.isRunning else { return self.runPlace - .zero }
    return max(self.runPlace, self.place(of: self.hasVideo ? self.videoReach : self.audioReach)) - .zero
  }

  /// The length of all parts so far.
  var totalDuration: MediaDuration { self.pastDuration + self.duration }

  /// Whether samples are taken now.
  var isRunning: Bool {
    switch self.phase {
    case .running, .ending: true
    case .waiting, .paused: false
    }
  }

  /// Whether it is paused, and every sample emitted.
  var isPaused: Bool {
    if case .paused = self.phase { true } else { false }
  }

  /// Samples that are not emitted yet.
  var pendingSampleCount: Int { self.video.count + self.audio.count }

  /// When ``handleDeadline(at:)`` is to be called.
  var deadline: MediaTime? {
    if case .ending(_, let deadline) = self.phase { deadline } else { nil }
  }

  /// What is to be done; it is then taken as done.
  mutating func takeActions() -> [Action] {
    defer { self.actions = [] }
    return self.actions
  }
}

// Calls from outside.
extension RecordingTimeline {
  /// Begins a run at the next keyframe that was captured at a time or later; without effect while one runs.
  mutating func resume(at time: MediaTime) {
    guard !self.isTotalReached else { return }
    if case .ending = self.phase { self.endRun() }
    guard case .paused = self.phase else { return }
    self.phase = .waiting(since: time)
    if self.hasVideo { self.actions.append(.requestKeyframe) }
  }

  /// Ends the run with the last sample captured before a time, as soon as it has come.
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

  /// Ends the run with what has come.
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

  /// Notes that the samples of a track that follow are of another format: the next keyframe begins another part.
  mutating func change(to description: CodecDescription) {
    guard self.formats.change(to: description), description.kind == .audio, self.hasVideo, self.isRunning else {
      return
    }
    self.actions.append(.requestKeyframe)
  }

  /// Notes that the deadline has passed.
  mutating func handleDeadline(at now: MediaTime) {
    if let deadline, now >= deadline { self.endRun() }
  }

  /// Takes a sample of the stream.
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
      // A video frame that comes before the last one is none that a timeline can hold.
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

// Runs.
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
    // Times are rounded, each to its clock.
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

  /// Where the last video frame before a time ends.
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

// Fragments and parts.
extension RecordingTimeline {
  private mutating func cutFragments() {
    while let (time, isKeyframe) = self.nextCut() {
      self.emitFragment(upTo: time, next: isKeyframe == nil ? nil : time)
      self.fragmentStart = time
      let isPlanned = self.formats.next.first?.start == time
      if isPlanned || self.isPartFull(at: time) && (isKeyframe ?? !self.hasVideo) { self.startPart(at: time) }
    }
  }

  /// Where the fragment ends that both tracks have reached the end of, and whether a keyframe follows: nil when it is no
  /// video frame.
  private func nextCut() -> (time: MediaTime, isKeyframe: Bool?)? {
    let planned = self.formats.next.first?.start
    // One that begins a part may have none before it.
    let candidates = self.video.first?.decodeTime == planned ? self.video[...] : self.video.dropFirst()
    let nextFrame = candidates.first { picture in
      let length = picture.decodeTime - self.fragmentStart
      return length >= Self.fragmentDuration || picture.decodeTime == planned
        || picture.isKeyframe && (length >= Self.fragmentDuration * 3 / 4 || self.isPartFull(at: picture.decodeTime))
    }
    if let nextFrame {
      let time = nextFrame.decodeTime
      let isReached = !self.hasAudio || self.audioReach >= time - self.half
      if isReached || self.videoReach - max(self.audioReach, self.fragmentStart) > Self.trackTimeout {
        return (time, nextFrame.isKeyframe)
      }
    }
    if !self.hasVideo, let planned { return (planned, nil) }
    // Audio alone, or video frames that do not come.
    let longest = self.hasVideo ? Self.fragmentDuration + Self.trackTimeout * 2 : Self.fragmentDuration
    guard self.hasAudio, nextFrame == nil, self.audioReach - self.fragmentStart >= longest else { return nil }
    return (self.hasVideo ? max(self.videoReach, self.audioReach - Self.trackTimeout) : self.audioReach, nil)
  }

  /// Emits the samples before a time as a fragment.
  private mutating func emitFragment(upTo time: MediaTime, next: MediaTime?) {
    let pictures = self.video.removeFirst { $0.decodeTime < time }
    let audioEnd = time - self.half
    let sounds = self.audio.removeFirst { $0.presentationTime < audioEnd }
    var samples: [EncodedSample] = []
    samples.reserveCapacity(pictures.count + sounds.count)
    for var picture in pictures {
      picture.presentationTime = self.place(of: picture.presentationTime)
      picture.decodeTime = self.place(of: picture.decodeTime)
      samples.append(picture)
    }
    for var sound in sounds where self.formats.isCurrent(audioAt: sound.presentationTime) {
      let wanted = self.place(of: sound.presentationTime)
      guard let place = self.audioPlacement?.place(wanted) else { continue }
      sound.presentationTime = place
      sound.decodeTime = place
      samples.append(sound)
    }
    guard !samples.isEmpty else { return }
    self.fragmentByteCount = samples.reduce(0) { $0 + Self.byteCount($1) }
    self.actions.append(.fragment(samples, nextVideoTime: next.map(self.place)))
  }

  /// Whether the part is to end with the first keyframe at a time or later.
  private func isPartFull(at time: MediaTime) -> Bool {
    if let limit = self.limits.duration, self.place(of: time) - .zero >= limit { return true }
    // A second or so until the keyframe, and what is not counted here.
    if let limit = self.limits.byteCount, self.partByteCount + 2 * self.fragmentByteCount >= limit { return true }
    return self.partSampleCount >= Self.maximumSampleCount
  }

  private mutating func requestNextPart() {
    guard self.hasVideo, !self.isKeyframeRequested, self.isPartFull(at: self.videoReach) else { return }
    self.isKeyframeRequested = true
    self.actions.append(.requestKeyframe)
  }

  /// What a sample takes in the file, its entries in tables included.
  private static func byteCount(_ sample: EncodedSample) -> Int {
    sample.payload.readableBytes + 16
  }

  private mutating func endAtTotal(now: MediaTime) {
    guard let total = self.limits.total, self.totalDuration >= total else { return }
    self.isTotalReached = true
    // Times are rounded; a video frame that is due at the end is not part of it.
    let end = self.runStart + (total - self.pastDuration - (self.runPlace - .zero)) - .milliseconds(1)
    self.pause(at: end, now: now)
  }

  /// Begins the part that is planned for a time, or else another one of the same formats.
  private mutating func startPart(at time: MediaTime) {
    if self.formats.next.first?.start == time { self.beginPlannedPart() } else { self.audioPlacement?.restart() }
    self.actions.append(.nextPart(self.formats.current))
    self.pastDuration = self.pastDuration + (self.place(of: time) - .zero)
    self.isKeyframeRequested = false
    self.runStart = time
    self.runPlace = .zero
    self.partByteCount = (self.video + self.audio).reduce(0) { $0 + Self.byteCount($1) }
    self.partSampleCount = 0
    self.fragmentByteCount = 0
  }
}

extension RecordingTimeline {
  private mutating func beginPlannedPart() {
    let (audio, start) = (self.formats.audio, self.formats.latestAudioStart)
    self.formats.beginPlannedPart()
    // Audio of the old kind is none that the new part can have.
    if self.formats.audio != audio { self.audio.removeAll { $0.presentationTime < start } }
    self.audioPlacement = self.formats.audio.map { AudioPlacement($0) }
  }
}

extension [EncodedSample] {
  /// Removes and returns the samples at the start that meet a condition.
  @discardableResult
  fileprivate mutating func removeFirst(while condition: (EncodedSample) -> Bool) -> ArraySlice<EncodedSample> {
    let first = self.prefix(while: condition)
    self.removeFirst(first.count)
    return first
  }
}
