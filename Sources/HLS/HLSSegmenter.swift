internal import Media
internal import NIOCore

/// Divides audio and video into segments and parts that contain both kinds of the same time span.
///
/// Video leads if there is any, else audio: parts and segments end where a leading sample starts; a sample of the other kind
/// belongs to the span in which it starts. A part is closed once all its samples have arrived, which a later sample of each
/// kind proves. The kinds arrive from different threads and sources, so one is usually ahead: a camera may be half a second
/// later than a microphone. The later kind is waited for as long as its samples keep arriving, up to ``maximumLag``. When none has
/// arrived for ``maximumPause``, it is no longer waited for, and its late samples go into a later part.
///
/// A segment ends at the first keyframe after half of the target duration; a keyframe is requested so that the frame at the
/// target duration is one. Sources with rare keyframes make longer segments, until a playlist has promised a target duration, or
/// a segment lasts ``HLSTiming/maximumWithoutKeyframe``: then a segment that would exceed the target duration ends without a
/// keyframe, and the next one starts without. Without video frames,
/// segments of audio alone continue; the segment after them starts without a keyframe, and video is dropped until there is one.
///
/// Boundaries are whole microseconds, so that the durations of parts in a playlist add up to those of segments.
struct HLSSegmenter: Sendable {
  /// Maximum time without samples of one kind for which a part waits.
  static let maximumPause = MediaDuration.milliseconds(250)
  /// Maximum lag of one kind behind the other for which a part waits while samples of it arrive.
  static let maximumLag = MediaDuration.milliseconds(1_500)
  /// Time after a frame is due at which a keyframe is requested, because the frame did not arrive.
  static let delay = MediaDuration.milliseconds(150)
  /// Maximum time between a request and the capture of a frame that meets it, in both directions; or two frames.
  static let requestMargin = MediaDuration.milliseconds(300)
  /// Minimum time between two requests for the same keyframe.
  static let requestInterval = MediaDuration.milliseconds(500)
  /// Maximum time without samples that is not a discontinuity.
  static let maximumGap = MediaDuration.seconds(3)
  /// Maximum duration of audio that is buffered until the first keyframe; then audio starts alone.
  static let maximumAudioWait = MediaDuration.seconds(2)
  /// Maximum number of queued metadata items; the oldest is dropped when no part is closed.
  static let maximumMetadataCount = 256
  /// Maximum bytes of a segment; a larger one ends without a keyframe.
  static let maximumBytes = 32 << 20

  /// Timing; the target duration may be raised until ``isTargetFixed``.
  var timing: HLSTiming
  /// Whether viewers know the target duration, so that no segment may exceed it.
  var isTargetFixed = false
  private let leadingKind: MediaKind
  private let hasOther: Bool
  private let leadsWithVideo: Bool

  /// Samples that are not in a part yet.
  private var leading: [EncodedSample] = []
  private var other: [EncodedSample] = []
  /// Metadata that is not in a part yet, in order of time.
  private var metadata: [TimedMetadata] = []
  /// Time up to which all samples of a kind have arrived; nil before the first.
  private var leadingReach: MediaTime?
  private var otherReach: MediaTime?
  /// Decoding time of the last sample of each kind.
  private var leadingTime: MediaTime?
  private var otherTime: MediaTime?
  /// Arrival of the last sample of each kind.
  private var leadingArrival: MediaTime?
  private var otherArrival: MediaTime?
  /// The other kind's reach at ``leadingArrival``.
  private var otherReachAtLeading: MediaTime?
  /// Time from the capture to the arrival of the last leading sample.
  private var latency = MediaDuration.zero

  /// Start of the current segment; nil without one.
  private var segmentStart: MediaTime?
  /// Start of the next segment, at a keyframe that has arrived before the other kind.
  private var nextStart: MediaTime?
  private var partStart = MediaTime.zero
  private var segmentBytes = 0
  /// Remaining number of start segments, which are half as long.
  private var shortSegments: Int
  private var isDiscontinuous: Bool
  /// Whether video is dropped until a keyframe.
  private var needsKeyframe: Bool
  /// Time of the last request for a keyframe that has not arrived.
  private var requestTime: MediaTime?
  /// Time between the last two leading samples, at least the nominal interval.
  private var interval: MediaDuration
  /// Whether the current segment starts with a frame that is no keyframe.
  private var startsWithinGroup = false

  /// Time of the first audio sample that waits for a keyframe.
  private var audioWaitStart: MediaTime?

  /// Whether the missing keyframe was requested more than once.
  private var isRequestRepeated = false
  /// Whether keyframes arrive late after requests.
  private(set) var isShortOfKeyframes = false
  /// Whether a keyframe has followed a request at once, as those of an encoder do; true without video.
  private(set) var meetsRequests: Bool
  /// Whether a segment has started with a frame that is no keyframe.
  private(set) var hasDependentSegment = false
  private(set) var droppedSamples = 0

  init(_ descriptions: [CodecDescription], timing: HLSTiming, startSegments: Int, isDiscontinuous: Bool) {
    let kinds = Set(descriptions.map(\.kind))
    self.timing = timing
    self.shortSegments = startSegments
    self.leadsWithVideo = kinds.contains(.video)
    self.leadingKind = self.leadsWithVideo ? .video : .audio
    self.hasOther = kinds.count == 2
    self.needsKeyframe = self.leadsWithVideo
    self.isDiscontinuous = isDiscontinuous
    self.interval = timing.sampleInterval
    self.meetsRequests = !self.leadsWithVideo
  }

  /// Appends a sample that arrives now.
  ///
  /// - Returns: Resulting actions, in order.
  mutating func append(_ sample: EncodedSample, at now: MediaTime) -> [HLSSegmenterAction] {
    let isLeading = sample.kind == self.leadingKind
    let last = isLeading ? self.leadingTime : self.otherTime
    guard isLeading || self.hasOther, last.map({ $0 < sample.decodeTime }) ?? true else {
      self.droppedSamples += 1
      return []
    }
    var actions: [HLSSegmenterAction] = []
    if self.segmentStart != nil, let reach = self.reach, sample.decodeTime - reach > Self.maximumGap {
      actions = self.interrupt()
    }
    if isLeading { self.appendLeading(sample, at: now) } else { self.appendOther(sample, at: now) }
    self.open(into: &actions)
    while let part = self.nextPart(at: now) { self.close(part, into: &actions) }
    return actions
  }

  /// Appends metadata, in order of time and before the frame of its time.
  mutating func append(_ metadata: TimedMetadata) {
    guard self.metadata.last.map({ $0.time <= metadata.time }) ?? true else { return }
    if self.metadata.count >= Self.maximumMetadataCount { self.metadata.removeFirst() }
    self.metadata.append(metadata)
  }

  /// Ends the segment with all samples that have arrived. The next sample starts a discontinuous segment.
  mutating func interrupt() -> [HLSSegmenterAction] {
    var actions: [HLSSegmenterAction] = []
    if self.segmentStart != nil {
      if let last = [self.leading.last, self.other.last].compactMap({ $0 }).map(Self.end(of:)).max() {
        // Longer than one part only when one kind has just stopped; then several parts.
        let end = max(Self.boundary(last), self.partStart + .microseconds(1))
        while end - self.partStart > self.timing.partTarget {
          self.close(Part(end: self.partStart + self.timing.partTarget), into: &actions)
        }
        if end > self.partStart { self.close(Part(end: end), into: &actions) }
      }
      actions.append(.end)
    }
    self.segmentStart = nil
    self.leading.removeAll()
    self.other.removeAll()
    self.metadata.removeAll()
    (self.leadingReach, self.otherReach) = (nil, nil)
    (self.leadingArrival, self.otherArrival, self.otherReachAtLeading) = (nil, nil, nil)
    self.needsKeyframe = self.leadsWithVideo
    self.isDiscontinuous = true
    self.shortSegments = 1
    self.requestTime = nil
    self.nextStart = nil
    return actions
  }

  /// Whether to request a keyframe now; true once, and again after ``requestInterval`` without a keyframe.
  mutating func requestsKeyframe(at now: MediaTime) -> Bool {
    guard let due = self.requestDue, now >= due else { return false }
    if self.requestTime != nil { (self.isShortOfKeyframes, self.isRequestRepeated) = (true, true) }
    self.requestTime = now
    return true
  }

  /// Time of the next keyframe request if no sample arrives before; nil without video.
  var requestDue: MediaTime? {
    guard self.leadsWithVideo else { return nil }
    let earliest = self.requestTime.map { $0 + Self.requestInterval } ?? MediaTime(nanoseconds: .min)
    guard let segmentStart, !self.needsKeyframe else { return earliest }
    let start = max(segmentStart, self.nextStart ?? segmentStart)
    let isShort = self.shortSegments > (start == segmentStart ? 0 : 1)
    let goal = start + (isShort ? self.timing.minimumSegment : self.timing.target)
    // Whether the next frame is nearer to the target duration than the frame after it.
    let isNext = self.leadingTime.map { $0 + self.interval + self.interval / 2 >= goal } ?? false
    // Whether that frame is missing: the other kind has passed the target duration by more than the lag of video.
    let isReached = self.otherReach.map { $0 - self.leadingLag >= goal } ?? false
    return isNext || isReached ? earliest : max(earliest, goal + self.latency + Self.delay)
  }
}

extension HLSSegmenter {
  /// Latest time of the samples of both kinds.
  private var reach: MediaTime? {
    guard let leadingReach, let otherReach else { return self.leadingReach ?? self.otherReach }
    return max(leadingReach, otherReach)
  }

  /// Lag of the last leading sample behind the other kind when it arrived.
  private var leadingLag: MediaDuration {
    guard let leadingTime, let otherReachAtLeading else { return .zero }
    return min(max(.zero, otherReachAtLeading - leadingTime), Self.maximumLag)
  }

  private mutating func appendLeading(_ sample: EncodedSample, at now: MediaTime) {
    let time = sample.decodeTime
    self.leadingArrival = now
    self.otherReachAtLeading = self.otherReach
    self.latency = min(max(.zero, now - time), Self.maximumLag)
    if let leadingTime {
      self.interval = max(self.timing.sampleInterval, min(time - leadingTime, .seconds(1)))
    }
    self.leadingTime = time
    self.leadingReach = self.leadsWithVideo ? time : Self.end(of: sample)
    if self.needsKeyframe {
      guard sample.isKeyframe else {
        self.droppedSamples += 1
        return
      }
      self.needsKeyframe = false
    }
    if sample.isKeyframe {
      if let requestTime, !self.isRequestRepeated,
        time - requestTime >= .zero - Self.requestMargin - self.latency,
        time - requestTime <= max(Self.requestMargin, self.interval * 2)
      {
        self.meetsRequests = true
      }
      // The keyframe arrived after a single request.
      if self.requestTime != nil, !self.isRequestRepeated { self.isShortOfKeyframes = false }
      self.isRequestRepeated = false
      self.requestTime = nil
      self.planSegment(at: Self.boundary(time))
    }
    self.segmentBytes += sample.payload.readableBytes
    self.leading.append(sample)
  }

  private mutating func planSegment(at time: MediaTime) {
    guard let segmentStart else { return }
    let start = max(segmentStart, self.nextStart ?? segmentStart)
    let minimum = start == segmentStart ? self.minimumSegment : self.timing.minimumSegment
    if time - start >= minimum { self.nextStart = time }
  }

  private mutating func appendOther(_ sample: EncodedSample, at now: MediaTime) {
    self.otherTime = sample.decodeTime
    self.otherArrival = now
    self.otherReach = Self.end(of: sample)
    self.segmentBytes += sample.payload.readableBytes
    self.other.append(sample)
  }

  /// Starts a segment if there is none and a sample can start one.
  private mutating func open(into actions: inout [HLSSegmenterAction]) {
    guard self.segmentStart == nil else { return }
    let start: MediaTime
    if let first = self.leading.first {
      start = Self.boundary(first.decodeTime)
    } else if let first = self.other.first, let last = self.other.last,
      last.decodeTime - first.decodeTime >= Self.maximumAudioWait
    {
      let since = self.audioWaitStart ?? first.decodeTime
      self.audioWaitStart = since
      if let leadingTime, last.decodeTime - leadingTime < Self.maximumAudioWait,
        last.decodeTime - since < self.timing.keyframeWait
      {
        // Video frames arrive; wait for a keyframe among them.
        self.droppedSamples += 1
        self.other.removeFirst()
        return
      }
      start = Self.boundary(first.decodeTime)
    } else {
      return
    }
    let count = self.other.count
    self.other.removeAll { Self.boundary($0.decodeTime) < start || $0.decodeTime - start > Self.maximumGap }
    self.droppedSamples += count - self.other.count
    if self.other.isEmpty { self.otherReach = nil }
    self.metadata.removeAll { Self.boundary($0.time) < start }
    self.start(at: start, isDiscontinuous: self.isDiscontinuous, into: &actions)
  }

  private mutating func start(at start: MediaTime, isDiscontinuous: Bool, into actions: inout [HLSSegmenterAction]) {
    self.segmentStart = start
    self.startsWithinGroup = false
    self.audioWaitStart = nil
    self.partStart = start
    self.segmentBytes = 0
    self.isDiscontinuous = false
    actions.append(.start(start, isDiscontinuous: isDiscontinuous))
  }

  /// The end of a part.
  private struct Part {
    var end: MediaTime
    /// Whether the segment ends with the part.
    var endsSegment = false
    /// Whether the part ends without a leading sample at its end.
    var isSilent = false
  }

  /// The end of the current part, once it is decided and all samples before it have arrived.
  private func nextPart(at now: MediaTime) -> Part? {
    guard let segmentStart, let part = self.boundaryOfPart(segmentStart, at: now) else { return nil }
    guard self.hasOther else { return part }
    return self.isKnown(self.otherReach, self.otherArrival, until: part.end, at: now) ? part : nil
  }

  private func boundaryOfPart(_ segmentStart: MediaTime, at now: MediaTime) -> Part? {
    let latest = self.partStart + self.timing.partTarget
    let earliest = self.partStart + self.timing.minimumPart
    for sample in self.leading {
      let time = Self.boundary(sample.decodeTime)
      guard time > self.partStart else { continue }
      if time > latest { return self.partWithoutLeadingSample(at: latest, segmentStart) }
      let length = time - segmentStart
      if sample.isKeyframe, length >= self.minimumSegment { return Part(end: time, endsSegment: true) }
      if time >= earliest { return Part(end: time, endsSegment: self.isTooLong(until: time)) }
    }
    guard self.isKnown(self.leadingReach, self.leadingArrival, until: latest, at: now) else { return nil }
    return self.partWithoutLeadingSample(at: latest, segmentStart)
  }

  /// Minimum duration after which a keyframe ends the segment: less than half of the target duration for start segments,
  /// whose keyframe is requested there and jitters; the target duration for audio alone, where each sample is a keyframe; a
  /// part for segments that start without one.
  private var minimumSegment: MediaDuration {
    // Players can start at the keyframe once a segment starts there.
    if self.startsWithinGroup { return self.timing.partTarget }
    if self.shortSegments > 0 { return self.timing.target * 2 / 5 }
    return self.leadsWithVideo ? self.timing.minimumSegment : self.timing.target
  }

  private func partWithoutLeadingSample(at end: MediaTime, _ segmentStart: MediaTime) -> Part {
    let isSilent = !self.leading.contains { Self.boundary($0.decodeTime) < end }
    let hasOther = self.other.contains { Self.boundary($0.decodeTime) < end }
    let isLast = end + self.timing.partTarget - segmentStart >= self.timing.maximumSegment
    return Part(
      end: end, endsSegment: isSilent && hasOther && isLast || self.isTooLong(until: end), isSilent: true)
  }

  /// Whether groups of pictures are divided that exceed the target duration.
  private var dividesGroups: Bool { self.isTargetFixed || self.hasDependentSegment }

  private func isTooLong(until end: MediaTime) -> Bool {
    guard let segmentStart else { return false }
    if self.segmentBytes > Self.maximumBytes { return true }
    let length = end - segmentStart
    // The next part would be too much.
    if self.dividesGroups { return length + self.timing.partTarget >= self.timing.maximumSegment }
    return length > self.timing.maximumWithoutKeyframe
  }

  /// Whether all samples of a kind before a time have arrived, or are no longer waited for.
  ///
  /// - Parameter arrival: Arrival of the kind's last sample.
  private func isKnown(
    _ kindReach: MediaTime?, _ arrival: MediaTime?, until time: MediaTime, at now: MediaTime
  ) -> Bool {
    if let kindReach, kindReach >= time { return true }
    guard let reach, reach - time >= Self.maximumPause else { return false }
    guard let arrival, reach - time < Self.maximumLag else { return true }
    return now - arrival >= max(Self.maximumPause, self.timing.sampleInterval * 3 / 2)
  }

  private mutating func close(_ part: Part, into actions: inout [HLSSegmenterAction]) {
    let leadingCount = self.leading.firstIndex { Self.boundary($0.decodeTime) >= part.end } ?? self.leading.count
    let otherCount = self.other.firstIndex { Self.boundary($0.decodeTime) >= part.end } ?? self.other.count
    var leadingSamples = self.leading.prefix(leadingCount)
    if self.leadsWithVideo { self.setDurations(of: &leadingSamples, part) }
    let samples = Self.merge(leadingSamples, self.other.prefix(otherCount))
    let isIndependent = leadingSamples.contains(where: \.isKeyframe)
    self.leading.removeFirst(leadingCount)
    self.other.removeFirst(otherCount)
    let metadataCount = self.metadata.firstIndex { Self.boundary($0.time) >= part.end } ?? self.metadata.count
    let metadata = Array(self.metadata.prefix(metadataCount))
    self.metadata.removeFirst(metadataCount)
    actions.append(
      .part(
        HLSPartSamples(
          samples: samples, metadata: metadata, start: self.partStart, end: part.end, isIndependent: isIndependent)))
    self.partStart = part.end
    guard part.endsSegment else { return }
    actions.append(.end)
    self.shortSegments = max(0, self.shortSegments - 1)
    let isDivided = self.dividesGroups || self.isTooLong(until: part.end)
    self.segmentStart = nil
    let hasVideo = self.leadsWithVideo && !(leadingSamples.isEmpty && self.leading.isEmpty)
    let startsWithinGroup = isDivided && hasVideo && self.leading.first?.isKeyframe != true
    if startsWithinGroup {
      self.hasDependentSegment = true
    } else if self.leadsWithVideo, self.leading.first?.isKeyframe != true {
      self.droppedSamples += self.leading.count
      self.leading.removeAll()
      self.needsKeyframe = true
    }
    if !self.leading.isEmpty || self.hasOther || startsWithinGroup {
      self.start(at: part.end, isDiscontinuous: false, into: &actions)
      self.startsWithinGroup = startsWithinGroup
    } else {
      // No segment until the next keyframe, which follows a gap.
      self.isDiscontinuous = true
    }
  }

  /// Sets the duration of each frame to the start of the next. Without a next frame, the last one lasts until the requested
  /// keyframe, since players treat the time after a short frame as a gap.
  private func setDurations(of leadingSamples: inout ArraySlice<EncodedSample>, _ part: Part) {
    for index in leadingSamples.indices {
      let end: MediaTime
      if index + 1 < self.leading.endIndex {
        end = self.leading[index + 1].decodeTime
      } else if part.isSilent, let segmentStart {
        end = max(part.end, segmentStart + self.timing.target)
      } else {
        end = part.end
      }
      let duration = end - leadingSamples[index].decodeTime
      leadingSamples[index].duration = duration > .zero ? duration : self.timing.sampleInterval
    }
  }

  static func merge(
    _ first: ArraySlice<EncodedSample>, _ second: ArraySlice<EncodedSample>
  ) -> [EncodedSample] {
    guard !second.isEmpty else { return Array(first) }
    var merged: [EncodedSample] = []
    merged.reserveCapacity(first.count + second.count)
    var rest = second
    for sample in first {
      while let next = rest.first, next.decodeTime < sample.decodeTime {
        merged.append(next)
        rest.removeFirst()
      }
      merged.append(sample)
    }
    return merged + rest
  }

  /// End of a sample; its duration is clamped to one second.
  private static func end(of sample: EncodedSample) -> MediaTime {
    sample.decodeTime + max(.zero, min(sample.duration, .seconds(1)))
  }

  /// A time rounded down to a microsecond.
  static func boundary(_ time: MediaTime) -> MediaTime {
    let remainder = time.nanoseconds % 1000
    let floor = time.nanoseconds - remainder
    return MediaTime(nanoseconds: remainder < 0 && floor >= .min + 1000 ? floor - 1000 : floor)
  }
}
