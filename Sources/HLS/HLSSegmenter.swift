internal import Media
internal import NIOCore

/// Cuts sound and picture into segments and parts, so that each holds both kinds of the same span.
///
/// Pictures lead where there are any, else the sound does: parts and segments end where one of its samples starts, and
/// each sample of the other kind belongs to the span that it starts in. A part is closed once all of its samples are known
/// to be there, which is when a later one of each kind has come. The kinds come from different threads, so one is ahead
/// of the other as a rule; when it is ``patience`` ahead the other one is no longer waited for, and what comes late goes
/// into a later part.
///
/// A segment ends at a keyframe, the first one from half of the target duration on; one is asked for so that the picture
/// at the target duration is a keyframe. A source that gives keyframes when it likes makes longer segments. Where pictures stay away, parts and segments with sound alone go on; the
/// segment after such a one starts without a keyframe, and pictures are left out until there is one.
///
/// Boundaries are whole microseconds, so that the lengths of parts that a playlist tells add up to those of segments.
struct HLSSegmenter: Sendable {
  /// How far one kind may be behind the other and still be waited for.
  static let patience = MediaDuration.milliseconds(250)
  /// How long after its time a picture is expected at the latest, before a keyframe is asked for in its place.
  static let delay = MediaDuration.milliseconds(150)
  /// The least time between two requests for a keyframe that has not come.
  static let requestInterval = MediaDuration.milliseconds(500)
  /// A longer time without any sample is a discontinuity.
  static let longestGap = MediaDuration.seconds(3)
  /// The sound that is kept while the first keyframe is waited for; then it starts alone.
  static let longestStart = MediaDuration.seconds(2)
  /// The longest that it waits while pictures come; sources that are passed through give keyframes when they like.
  static let longestWaitForKeyframe = MediaDuration.seconds(15)
  /// The most that is kept to be told; more means that no part comes which could take it.
  static let mostMetadata = 256
  /// The most bytes of a segment without a keyframe at which it could end.
  static let maximumBytes = 32 << 20

  /// May be raised.
  var timing: HLSTiming
  private let leadingKind: MediaKind
  private let hasOther: Bool
  private let leadsWithPictures: Bool

  /// Samples that are in no part yet.
  private var leading: [EncodedSample] = []
  private var other: [EncodedSample] = []
  /// What was told and is in no part yet, in order of time.
  private var metadata: [TimedMetadata] = []
  /// Up to where all samples of a kind are there; nil before the first.
  private var leadingReach: MediaTime?
  private var otherReach: MediaTime?
  /// The time of the last sample of each kind.
  private var leadingTime: MediaTime?
  private var otherTime: MediaTime?

  /// Where the segment starts; nil while there is none.
  private var segmentStart: MediaTime?
  /// Where the next segment will start: at a keyframe that is there, while the other kind is not yet.
  private var nextStart: MediaTime?
  private var partStart = MediaTime.zero
  private var segmentBytes = 0
  /// The segments still to come at the start, which somebody waits for: half as long.
  private var shortSegments: Int
  private var isDiscontinuous: Bool
  /// Whether pictures are left out until there is a keyframe.
  private var needsKeyframe: Bool
  /// When a keyframe was last asked for that has not come.
  private var requestTime: MediaTime?
  /// The last distance of two pictures, where it is longer than the usual one.
  private var interval: MediaDuration

  /// From when on sound has waited for a keyframe.
  private var soundSince: MediaTime?

  /// Whether the keyframe that is waited for was asked for more than once.
  private var isRequestRepeated = false
  /// Whether keyframes come later than they are asked for.
  private(set) var isShortOfKeyframes = false
  private(set) var droppedSamples = 0

  init(_ descriptions: [CodecDescription], timing: HLSTiming, startSegments: Int, isDiscontinuous: Bool) {
    let kinds = Set(descriptions.map(\.kind))
    self.timing = timing
    self.shortSegments = startSegments
    self.leadsWithPictures = kinds.contains(.video)
    self.leadingKind = self.leadsWithPictures ? .video : .audio
    self.hasOther = kinds.count == 2
    self.needsKeyframe = self.leadsWithPictures
    self.isDiscontinuous = isDiscontinuous
    self.interval = timing.sampleInterval
  }

  /// Takes a sample.
  ///
  /// - Returns: What it completes, in order.
  mutating func append(_ sample: EncodedSample) -> [HLSSegmenterAction] {
    let isLeading = sample.kind == self.leadingKind
    let last = isLeading ? self.leadingTime : self.otherTime
    guard isLeading || self.hasOther, last.map({ $0 < sample.decodeTime }) ?? true else {
      self.droppedSamples += 1
      return []
    }
    var cuts: [HLSSegmenterAction] = []
    if self.segmentStart != nil, let reach = self.reach, sample.decodeTime - reach > Self.longestGap {
      cuts = self.interrupt()
    }
    if isLeading { self.appendLeading(sample) } else { self.appendOther(sample) }
    self.open(into: &cuts)
    while let part = self.nextPart() { self.close(part, into: &cuts) }
    return cuts
  }

  /// Takes what is told of a moment, in order of time and before the picture of that moment.
  mutating func append(_ metadata: TimedMetadata) {
    guard self.metadata.last.map({ $0.time <= metadata.time }) ?? true else { return }
    if self.metadata.count >= Self.mostMetadata { self.metadata.removeFirst() }
    self.metadata.append(metadata)
  }

  /// Ends the segment with all samples that are there. What comes next starts a new one with a discontinuity.
  mutating func interrupt() -> [HLSSegmenterAction] {
    var cuts: [HLSSegmenterAction] = []
    if self.segmentStart != nil {
      if let last = [self.leading.last, self.other.last].compactMap({ $0 }).map(Self.end(of:)).max() {
        // Longer than a part only when one kind has stopped just now; then it is more than one.
        let end = max(Self.boundary(last), self.partStart + .microseconds(1))
        while end - self.partStart > self.timing.partTarget {
          self.close(Part(end: self.partStart + self.timing.partTarget), into: &cuts)
        }
        if end > self.partStart { self.close(Part(end: end), into: &cuts) }
      }
      cuts.append(.end)
    }
    self.segmentStart = nil
    self.leading.removeAll()
    self.other.removeAll()
    self.metadata.removeAll()
    (self.leadingReach, self.otherReach) = (nil, nil)
    self.needsKeyframe = self.leadsWithPictures
    self.isDiscontinuous = true
    self.shortSegments = 1
    self.requestTime = nil
    self.nextStart = nil
    return cuts
  }

  /// Whether a keyframe is to be asked for now; true once, then again when it has not come for a while.
  mutating func requestsKeyframe(at now: MediaTime) -> Bool {
    guard let due = self.requestDue, now >= due else { return false }
    if self.requestTime != nil { (self.isShortOfKeyframes, self.isRequestRepeated) = (true, true) }
    self.requestTime = now
    return true
  }

  /// When a keyframe is to be asked for if no sample comes before; nil without pictures.
  var requestDue: MediaTime? {
    guard self.leadsWithPictures else { return nil }
    let earliest = self.requestTime.map { $0 + Self.requestInterval } ?? MediaTime(nanoseconds: .min)
    guard let segmentStart, !self.needsKeyframe else { return earliest }
    let start = max(segmentStart, self.nextStart ?? segmentStart)
    let isShort = self.shortSegments > (start == segmentStart ? 0 : 1)
    let goal = start + (isShort ? self.timing.shortestSegment : self.timing.target)
    // Of the next picture and the one after it, the next one is nearer.
    let isNext = self.leadingTime.map { $0 + self.interval + self.interval / 2 >= goal } ?? false
    let isReached = self.otherReach.map { $0 >= goal } ?? false
    return isNext || isReached ? earliest : max(earliest, goal + Self.delay)
  }
}

extension HLSSegmenter {
  /// Up to where any sample goes.
  private var reach: MediaTime? {
    guard let leadingReach, let otherReach else { return self.leadingReach ?? self.otherReach }
    return max(leadingReach, otherReach)
  }

  private mutating func appendLeading(_ sample: EncodedSample) {
    let time = sample.decodeTime
    if let leadingTime {
      self.interval = max(self.timing.sampleInterval, min(time - leadingTime, .seconds(1)))
    }
    self.leadingTime = time
    self.leadingReach = self.leadsWithPictures ? time : Self.end(of: sample)
    if self.needsKeyframe {
      guard sample.isKeyframe else {
        self.droppedSamples += 1
        return
      }
      self.needsKeyframe = false
    }
    if sample.isKeyframe {
      // One that came as it was asked for.
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
    let shortest = start == segmentStart ? self.shortestSegment : self.timing.shortestSegment
    if time - start >= shortest { self.nextStart = time }
  }

  private mutating func appendOther(_ sample: EncodedSample) {
    self.otherTime = sample.decodeTime
    self.otherReach = Self.end(of: sample)
    self.segmentBytes += sample.payload.readableBytes
    self.other.append(sample)
  }

  /// Starts a segment when there is none and something to start it with.
  private mutating func open(into cuts: inout [HLSSegmenterAction]) {
    guard self.segmentStart == nil else { return }
    let start: MediaTime
    if let first = self.leading.first {
      start = Self.boundary(first.decodeTime)
    } else if let first = self.other.first, let last = self.other.last,
      last.decodeTime - first.decodeTime >= Self.longestStart
    {
      let since = self.soundSince ?? first.decodeTime
      self.soundSince = since
      if let leadingTime, last.decodeTime - leadingTime < Self.longestStart,
        last.decodeTime - since < Self.longestWaitForKeyframe
      {
        // Pictures come, and one of them will be a keyframe.
        self.droppedSamples += 1
        self.other.removeFirst()
        return
      }
      start = Self.boundary(first.decodeTime)
    } else {
      return
    }
    let count = self.other.count
    self.other.removeAll { Self.boundary($0.decodeTime) < start || $0.decodeTime - start > Self.longestGap }
    self.droppedSamples += count - self.other.count
    if self.other.isEmpty { self.otherReach = nil }
    self.metadata.removeAll { Self.boundary($0.time) < start }
    self.start(at: start, isDiscontinuous: self.isDiscontinuous, into: &cuts)
  }

  private mutating func start(at start: MediaTime, isDiscontinuous: Bool, into cuts: inout [HLSSegmenterAction]) {
    self.segmentStart = start
    self.soundSince = nil
    self.partStart = start
    self.segmentBytes = 0
    self.isDiscontinuous = false
    cuts.append(.start(start, isDiscontinuous: isDiscontinuous))
  }

  /// A decided end of the part.
  private struct Part {
    var end: MediaTime
    /// Whether the segment ends with it.
    var endsSegment = false
    /// Whether it ends without a picture there, since none came.
    var isSilent = false
  }

  /// The end of the part, once it can be told and all samples before it are there.
  private func nextPart() -> Part? {
    guard let segmentStart, let part = self.boundaryOfPart(segmentStart) else { return nil }
    guard self.hasOther else { return part }
    return self.isKnown(self.otherReach, at: part.end) ? part : nil
  }

  private func boundaryOfPart(_ segmentStart: MediaTime) -> Part? {
    let latest = self.partStart + self.timing.partTarget
    let earliest = self.partStart + self.timing.shortestPart
    for sample in self.leading {
      let time = Self.boundary(sample.decodeTime)
      guard time > self.partStart else { continue }
      if time > latest { return self.partWithoutPicture(at: latest, segmentStart) }
      let length = time - segmentStart
      if sample.isKeyframe, length >= self.shortestSegment { return Part(end: time, endsSegment: true) }
      if time >= earliest { return Part(end: time, endsSegment: self.isTooLong(until: time)) }
    }
    guard self.isKnown(self.leadingReach, at: latest) else { return nil }
    return self.partWithoutPicture(at: latest, segmentStart)
  }

  /// The length from which on a keyframe ends the segment. That of the first one was asked for at half of the target
  /// duration, and its time jitters. Each sample of sound is one, so sound alone waits for the whole target duration.
  private var shortestSegment: MediaDuration {
    if self.shortSegments > 0 { return self.timing.target * 2 / 5 }
    return self.leadsWithPictures ? self.timing.shortestSegment : self.timing.target
  }

  private func partWithoutPicture(at end: MediaTime, _ segmentStart: MediaTime) -> Part {
    let isSilent = !self.leading.contains { Self.boundary($0.decodeTime) < end }
    let hasOther = self.other.contains { Self.boundary($0.decodeTime) < end }
    let isLast = end + self.timing.partTarget - segmentStart >= self.timing.longestSegment
    return Part(
      end: end, endsSegment: isSilent && hasOther && isLast || self.isTooLong(until: end), isSilent: true)
  }

  private func isTooLong(until end: MediaTime) -> Bool {
    self.segmentBytes > Self.maximumBytes
      || self.segmentStart.map { end - $0 > self.timing.longestWithoutKeyframe } ?? false
  }

  /// Whether all samples of a kind before a time are there, or are no longer waited for.
  private func isKnown(_ kindReach: MediaTime?, at time: MediaTime) -> Bool {
    if let kindReach, kindReach >= time { return true }
    return self.reach.map { $0 - Self.patience >= time } ?? false
  }

  private mutating func close(_ part: Part, into cuts: inout [HLSSegmenterAction]) {
    let leadingCount = self.leading.firstIndex { Self.boundary($0.decodeTime) >= part.end } ?? self.leading.count
    let otherCount = self.other.firstIndex { Self.boundary($0.decodeTime) >= part.end } ?? self.other.count
    var pictures = self.leading.prefix(leadingCount)
    if self.leadsWithPictures { self.setDurations(of: &pictures, part) }
    let samples = Self.merge(pictures, self.other.prefix(otherCount))
    let isIndependent = pictures.contains(where: \.isKeyframe)
    self.leading.removeFirst(leadingCount)
    self.other.removeFirst(otherCount)
    let metadataCount = self.metadata.firstIndex { Self.boundary($0.time) >= part.end } ?? self.metadata.count
    let metadata = Array(self.metadata.prefix(metadataCount))
    self.metadata.removeFirst(metadataCount)
    cuts.append(
      .part(
        HLSPartSamples(
          samples: samples, metadata: metadata, start: self.partStart, end: part.end, isIndependent: isIndependent)))
    self.partStart = part.end
    guard part.endsSegment else { return }
    cuts.append(.end)
    self.shortSegments = max(0, self.shortSegments - 1)
    self.segmentStart = nil
    if self.leadsWithPictures, self.leading.first?.isKeyframe != true {
      self.droppedSamples += self.leading.count
      self.leading.removeAll()
      self.needsKeyframe = true
    }
    if !self.leading.isEmpty || self.hasOther {
      self.start(at: part.end, isDiscontinuous: false, into: &cuts)
    } else {
      // Nothing to go on with until there is a keyframe, and then a gap lies before it.
      self.isDiscontinuous = true
    }
  }

  /// A picture lasts until the next one. Where that is not known, since pictures stay away, it is taken to last until the
  /// keyframe that is asked for: players that hold a short picture take what follows for a gap.
  private func setDurations(of pictures: inout ArraySlice<EncodedSample>, _ part: Part) {
    for index in pictures.indices {
      let end: MediaTime
      if index + 1 < self.leading.endIndex {
        end = self.leading[index + 1].decodeTime
      } else if part.isSilent, let segmentStart {
        end = max(part.end, segmentStart + self.timing.target)
      } else {
        end = part.end
      }
      let duration = end - pictures[index].decodeTime
      pictures[index].duration = duration > .zero ? duration : self.timing.sampleInterval
    }
  }

  private static func merge(
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

  /// Where a sample ends; one that says it lasts longer than a second is not believed.
  private static func end(of sample: EncodedSample) -> MediaTime {
    sample.decodeTime + max(.zero, min(sample.duration, .seconds(1)))
  }

  /// A time as a boundary: rounded down to a microsecond.
  private static func boundary(_ time: MediaTime) -> MediaTime {
    let remainder = time.nanoseconds % 1000
    let floor = time.nanoseconds - remainder
    return MediaTime(nanoseconds: remainder < 0 && floor >= .min + 1000 ? floor - 1000 : floor)
  }
}
