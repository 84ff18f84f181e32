internal import Containers
internal import Media

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

  enum Phase {
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
  static let maximumSampleCount = ProgressiveMP4.maximumSampleCount / 2

  let limits: Limits
  let hasVideo: Bool
  var formats: PartFormats
  var audioPlacement: AudioPlacement?

  var phase = Phase.paused
  var video: [EncodedSample] = []
  var audio: [EncodedSample] = []
  /// End of the received video, on the stream's clock.
  var videoReach = MediaTime(nanoseconds: .min)
  var audioReach = MediaTime(nanoseconds: .min)

  /// Start of the run, on the stream's clock.
  var runStart = MediaTime.zero
  var runPlace = MediaTime.zero
  /// Start of the fragment, on the stream's clock.
  var fragmentStart = MediaTime.zero

  /// Bytes of all samples of this part, retained ones included.
  var partByteCount = 0
  var partSampleCount = 0
  var fragmentByteCount = 0
  var isKeyframeRequested = false
  /// Whether the part has come near to its limit of bytes. It stays so when the next fragment, and so the margin, is smaller.
  var isNearByteLimit = false
  /// Duration of the previous parts.
  var pastDuration = MediaDuration.zero
  /// Whether ``Limits/total`` is reached and everything is emitted.
  var isOver: Bool { self.isTotalReached && self.isPaused }
  var isTotalReached = false
  var actions: [Action] = []

  /// Creates a timeline that waits for ``resume(at:)``.
  init(_ descriptions: [CodecDescription], limits: Limits = Limits()) {
    self.limits = limits
    self.hasVideo = descriptions.contains { $0.kind == .video }
    self.formats = PartFormats(descriptions)
    self.audioPlacement = self.formats.audio.map { AudioPlacement($0) }
  }

  var hasAudio: Bool { self.audioPlacement != nil }
  var half: MediaDuration { self.audioPlacement?.halfFrame ?? .zero }

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
