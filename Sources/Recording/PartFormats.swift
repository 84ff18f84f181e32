internal import Media

/// Codec descriptions of a recording's tracks, and the times at which parts with other descriptions begin.
///
/// Each track of an MP4 file has one description. When a description changes, the current part ends at a keyframe: the
/// first video frame of the new format, or, when the audio changed, the next keyframe. Audio of the new format before
/// that keyframe fits neither part and is dropped.
struct PartFormats {
  /// A planned part.
  struct Next {
    var start: MediaTime
    var descriptions: [CodecDescription]
  }

  /// Descriptions of the current part.
  private(set) var current: [CodecDescription]
  /// Descriptions of the samples that arrive now.
  private var latest: [CodecDescription]
  /// Planned parts whose start time is known, in order.
  private(set) var next: [Next] = []
  /// Time from which received audio has the latest format; nil while all of it has the part's format.
  private var audioChange: MediaTime?
  private var isAudioExpected = false

  init(_ descriptions: [CodecDescription]) {
    self.current = descriptions
    self.latest = descriptions
  }

  /// Whether samples arrive that belong to no planned part.
  var isPending: Bool { self.latest != self.planned }

  /// Whether arriving video frames need a part that is not planned yet.
  var isVideoPending: Bool { self.latest[.video] != self.planned[.video] }

  /// Audio description of the current part.
  var audio: AACDescription? {
    if case .aac(let description) = self.current[.audio] { description } else { nil }
  }

  /// Time from which received audio has the latest format.
  var latestAudioStart: MediaTime {
    self.isAudioExpected ? MediaTime(nanoseconds: .max) : self.audioChange ?? MediaTime(nanoseconds: .min)
  }

  private var planned: [CodecDescription] { self.next.last?.descriptions ?? self.current }

  /// Records that the following samples of a track have another format.
  ///
  /// - Returns: Whether the format differs; false for a track that the recording does not contain.
  mutating func change(to description: CodecDescription) -> Bool {
    guard self.latest.replace(description) else { return false }
    if description.kind == .audio { self.isAudioExpected = true }
    return true
  }

  /// Records the arrival of an audio frame.
  mutating func noteAudio(at time: MediaTime) {
    guard self.isAudioExpected else { return }
    self.isAudioExpected = false
    if self.current[.audio] != self.latest[.audio] { self.audioChange = self.audioChange ?? time }
  }

  /// Plans a part with the latest formats.
  mutating func planPart(at time: MediaTime) {
    self.next.append(Next(start: time, descriptions: self.latest))
  }

  /// Makes the first planned part the current one.
  mutating func beginPlannedPart() {
    guard !self.next.isEmpty else { return }
    self.begin(self.next.removeFirst().descriptions)
  }

  /// Drops the planned parts, because their samples were dropped.
  mutating func forgetPlans() {
    self.next = []
  }

  /// Whether an audio frame has the current part's format.
  func isCurrent(audioAt time: MediaTime) -> Bool {
    self.audioChange.map { time < $0 } ?? true
  }

  private mutating func begin(_ descriptions: [CodecDescription]) {
    self.current = descriptions
    if self.current[.audio] == self.latest[.audio] { self.audioChange = nil }
  }
}

extension [CodecDescription] {
  /// Description of the first track of a kind.
  fileprivate subscript(kind: MediaKind) -> CodecDescription? { self.first { $0.kind == kind } }
}
