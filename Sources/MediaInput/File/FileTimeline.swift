internal import Media

/// Timeline of a file's packets, which goes on through passes and through jumps of the file's clock. Pure. Times are nanoseconds.
///
/// Clips that were joined jump, each track at a packet of its own: the first one goes on where the longer track ended, and the other one
/// follows it. A step back is a jump, beyond what reordered frames need; a step ahead may be a gap, such as between two frames of a slide
/// show.
struct FileTimeline {
  /// A packet with its times on the file's clock.
  struct Packet {
    var kind: MediaKind
    var decodeTime: Int64
    var presentationTime: Int64
    var duration: Int64
    /// Whether decoding can start here: no packet before it is shown after it.
    var isKeyframe = true
    /// Whether ``decodeTime`` ascends from packet to packet, and is not a presentation time in its place.
    var isOrdered = true
    /// Whether it is decoded only: it precedes the start of an edit list.
    var isHidden = false
  }

  /// Calls a function with the decode times of a track's next packets in the file, until it returns false.
  typealias Lookahead = (MediaKind, (Int64) -> Bool) -> Void

  /// A track as far as it was read, on the timeline.
  private struct Track {
    /// Added to the timestamps of its packets.
    var shift: Int64
    /// Maximum of the decode times; nil before the first one.
    var decoded: Int64?
    /// Maximum of the presentation times; nil before the first one.
    var shown: Int64?
    /// Maximum of the presentation times with their durations.
    var end: Int64 = .min
    /// Last step from packet to packet.
    var rhythm: Int64 = 0

    /// Time from the last packet to another one; nil where they cannot be compared. Reordering spares keyframes, and decode times.
    func step(to packet: Packet, shift: Int64) -> Int64? {
      let decoding = packet.isOrdered ? self.decoded.map { packet.decodeTime + shift - $0 } : nil
      guard packet.isKeyframe else { return decoding }
      let showing = self.shown.map { packet.presentationTime + shift - $0 }
      // Some files mark each frame as a keyframe, those that are reordered too.
      if let showing, showing <= 0, let decoding, decoding > 0 { return decoding }
      return showing
    }

    mutating func append(_ packet: Packet) {
      if let step = self.step(to: packet, shift: self.shift), step > 0 { self.rhythm = step }
      let (decoded, shown) = (packet.decodeTime + self.shift, packet.presentationTime + self.shift)
      if packet.isOrdered { self.decoded = max(decoded, self.decoded ?? decoded) }
      // Damaged times are not counted.
      guard self.shown.map({ shown - $0 <= FileTimeline.maximumGap }) ?? true else { return }
      self.shown = max(shown, self.shown ?? shown)
      self.end = max(self.end, shown + min(packet.duration, FileTimeline.maximumDuration))
    }
  }

  /// Whether timestamps have jumped.
  private(set) var hasJumped = false
  /// Position at which the longer track ends, as far as it was read.
  private(set) var end: Int64 = 0
  /// Position at which this pass through the file begins.
  private(set) var passStart: Int64 = 0
  /// Whether the container format allows jumps, as MPEG-TS does.
  private let hasDiscontinuities: Bool
  /// The file's first timestamp; nil until it is known.
  private var start: Int64?
  /// Shift of the track that has jumped last; nil before the first packet of a pass.
  private var offset: Int64?
  private var tracks: [MediaKind: Track] = [:]

  /// Steps ahead up to this one are gaps.
  private static let minimumJump: Int64 = 10_000_000_000
  /// Steps ahead beyond this one are jumps.
  private static let maximumGap: Int64 = 600_000_000_000
  /// Distance of two tracks of one clock.
  private static let maximumSkew: Int64 = 5_000_000_000
  /// Steps back up to this one are slips.
  private static let tolerance: Int64 = 500_000_000
  /// Maximum time for which the last frame of a clip is shown.
  private static let maximumDuration: Int64 = 10_000_000_000
  /// Maximum number of frames that are reordered.
  private static let reorderedCount: Int64 = 16

  /// - Parameter start: The file's first timestamp; nil to take that of its first packet.
  init(start: Int64?, hasDiscontinuities: Bool) {
    (self.start, self.hasDiscontinuities) = (start, hasDiscontinuities)
  }

  /// Begins the next pass where the last one ended.
  mutating func beginPass() {
    // Damaged timestamps could place the end thousands of years ahead.
    self.end = min(self.end, self.passStart + 1 << 52)
    (self.passStart, self.offset, self.tracks) = (self.end, nil, [:])
  }

  /// Moves the end to a position, unless it is behind it.
  mutating func extend(to position: Int64) {
    self.end = max(self.end, position)
  }

  /// Forgets where a track was: its packets are not read while it is disabled, and the other one may jump meanwhile.
  mutating func forget(_ kind: MediaKind) {
    self.tracks[kind] = nil
  }

  /// Places the next packet of the file.
  ///
  /// - Returns: What is added to its timestamps.
  mutating func shift(of packet: Packet, lookahead: Lookahead) -> Int64 {
    let start = self.start ?? packet.presentationTime
    let offset = self.offset ?? self.passStart - start
    (self.start, self.offset) = (start, offset)
    var track = self.tracks[packet.kind] ?? Track(shift: offset)
    if !packet.isHidden {
      if self.jumps(track, to: packet, lookahead) { self.jump(&track, to: packet) }
      track.append(packet)
    }
    self.tracks[packet.kind] = track
    self.end = max(self.end, packet.presentationTime + track.shift + packet.duration)
    return track.shift
  }

  /// Places a packet after a jump: on the clock of a track that has jumped before, or where the longer track ended.
  private mutating func jump(_ track: inout Track, to packet: Packet) {
    self.hasJumped = true
    if self.follows(track, to: packet), let offset {
      track.shift = offset
    } else {
      let end = self.others(than: packet.kind).map(\.end).reduce(track.end, max)
      let first = packet.isKeyframe ? packet.presentationTime : packet.decodeTime
      let last = packet.isKeyframe ? track.end : (track.decoded ?? 0) + min(packet.duration, Self.maximumDuration)
      track.shift = last + (end - track.end) - first
      self.offset = track.shift
    }
    (track.decoded, track.shown) = (nil, nil)
  }

  /// Whether the file's clock has jumped between the last packet of a track and this one.
  private func jumps(_ track: Track, to packet: Packet, _ lookahead: Lookahead) -> Bool {
    guard let step = track.step(to: packet, shift: track.shift) else { return false }
    if step > Self.minimumJump { return self.jumpsAhead(track, to: packet, by: step, lookahead) }
    if packet.isKeyframe, packet.kind == .video, (-Self.tolerance...0).contains(step) {
      return self.isRepeated(track, packet, lookahead)
    }
    return step < -self.reordering(track, packet)
  }

  /// Time by which a packet may be before the last one.
  ///
  /// Where a container has no decode times, those of libavformat may be presentation times of frames that are reordered, but no frame
  /// that precedes a keyframe in the file is shown after it.
  private func reordering(_ track: Track, _ packet: Packet) -> Int64 {
    guard !self.hasDiscontinuities, !packet.isKeyframe else { return Self.tolerance }
    let interval = min(max(track.rhythm, packet.duration), Self.maximumDuration)
    return max(Self.tolerance, Self.reorderedCount * interval)
  }

  /// Whether a keyframe at the time of the last one begins another clip, as those of a slide show with a frame each: the other track has
  /// jumped or does so, or there is none.
  private func isRepeated(_ track: Track, _ packet: Packet, _ lookahead: Lookahead) -> Bool {
    if self.others(than: packet.kind).isEmpty || self.follows(track, to: packet) { return true }
    return self.hasStep(in: .min ... -Self.tolerance, besides: packet.kind, lookahead, isFirst: true)
  }

  /// Whether a long step ahead is a jump and no gap. A frame in ten seconds beside audio is none, and so is one by the rhythm of the track.
  /// In containers whose clocks should not jump, the other track has to jump too, or the step to be longer than ten minutes.
  private func jumpsAhead(_ track: Track, to packet: Packet, by step: Int64, _ lookahead: Lookahead) -> Bool {
    if self.isBeside(packet, shift: track.shift) { return false }
    if step > Self.maximumGap || self.follows(track, to: packet) { return true }
    if self.hasStep(in: Self.maximumSkew ... .max, besides: packet.kind, lookahead) { return true }
    guard self.hasDiscontinuities, step > 2 * max(track.rhythm, packet.duration) else { return false }
    var isRhythm = false
    lookahead(packet.kind) { next in
      isRhythm = next &- packet.decodeTime >= step / 2
      return false
    }
    return !isRhythm
  }

  /// Whether a packet is in its place on the clock of the track that has jumped last.
  private func follows(_ track: Track, to packet: Packet) -> Bool {
    guard let offset, offset != track.shift, let step = track.step(to: packet, shift: offset), step > -Self.tolerance
    else { return false }
    // Demuxers return a frame of a transport stream when the next ones have begun: the other track is ahead by twice their interval.
    let interval = min(max(track.rhythm, packet.duration), Self.maximumDuration)
    return step <= max(Self.maximumSkew, 2 * interval) || self.isBeside(packet, shift: offset)
  }

  /// Whether another track is at the time of a packet.
  private func isBeside(_ packet: Packet, shift: Int64) -> Bool {
    self.others(than: packet.kind).contains { other in
      other.shown.map { abs(packet.presentationTime + shift - $0) < Self.maximumSkew } ?? false
    }
  }

  private func others(than kind: MediaKind) -> [Track] {
    self.tracks.filter { $0.key != kind && $0.value.shown != nil }.map(\.value)
  }

  /// Whether the next packets of the other track have a step of a certain length.
  ///
  /// - Parameter isFirst: Whether only the step to the first one counts.
  private func hasStep(
    in lengths: ClosedRange<Int64>, besides kind: MediaKind, _ lookahead: Lookahead, isFirst: Bool = false
  ) -> Bool {
    for (other, track) in self.tracks where other != kind {
      guard let place = track.decoded ?? track.shown else { continue }
      var (last, isFound) = (place - track.shift, false)
      lookahead(other) { next in
        isFound = lengths.contains(next &- last)
        last = next
        return !isFound && !isFirst
      }
      if isFound { return true }
    }
    return false
  }
}
