internal import Media

/// The formats of a recording's tracks, and the places at which a part of other formats begins.
///
/// A file's tracks have one format each. Where the stream goes on in another one, the part ends with the keyframe before
/// which all samples are of the old format: with the first video frame of the new kind, or, where the audio has changed, with
/// the next keyframe. Audio of the new kind before that has no place in either part.
struct PartFormats {
  /// A part that is to begin.
  struct Next {
    var start: MediaTime
    var descriptions: [CodecDescription]
  }

  /// Of the part that is being made.
  private(set) var current: [CodecDescription]
  /// Of the samples that come.
  private var latest: [CodecDescription]
  /// Parts that have a place, the first one first.
  private(set) var next: [Next] = []
  /// From when on the audio that has come is of the latest format; nil when it is all of the part's.
  private var audioChange: MediaTime?
  private var isAudioExpected = false

  init(_ descriptions: [CodecDescription]) {
    self.current = descriptions
    self.latest = descriptions
  }

  /// Whether samples come that no part is planned for.
  var isPending: Bool { self.latest != self.planned }

  /// Whether the video frames that come can be decoded in no part but one that is not planned yet.
  var isVideoPending: Bool { self.latest[.video] != self.planned[.video] }

  /// What the audio of the part is.
  var audio: AACDescription? {
    if case .aac(let description) = self.current[.audio] { description } else { nil }
  }

  /// From when on the audio that has come is of the latest format.
  var latestAudioStart: MediaTime {
    self.isAudioExpected ? MediaTime(nanoseconds: .max) : self.audioChange ?? MediaTime(nanoseconds: .min)
  }

  private var planned: [CodecDescription] { self.next.last?.descriptions ?? self.current }

  /// Notes that the samples of a track that follow are of another format.
  ///
  /// - Returns: Whether they are; not of a track that the recording has not.
  mutating func change(to description: CodecDescription) -> Bool {
    guard let index = self.latest.firstIndex(where: { $0.kind == description.kind }), self.latest[index] != description
    else { return false }
    self.latest[index] = description
    if description.kind == .audio { self.isAudioExpected = true }
    return true
  }

  /// Notes that a audio frame has come.
  mutating func noteAudio(at time: MediaTime) {
    guard self.isAudioExpected else { return }
    self.isAudioExpected = false
    if self.current[.audio] != self.latest[.audio] { self.audioChange = self.audioChange ?? time }
  }

  /// Plans a part of the latest formats.
  mutating func planPart(at time: MediaTime) {
    self.next.append(Next(start: time, descriptions: self.latest))
  }

  /// Begins the first part that is planned.
  mutating func beginPlannedPart() {
    guard !self.next.isEmpty else { return }
    self.begin(self.next.removeFirst().descriptions)
  }

  /// Forgets what was planned: the samples are gone.
  mutating func forgetPlans() {
    self.next = []
  }

  /// Whether a audio frame is of the part's format.
  func isCurrent(audioAt time: MediaTime) -> Bool {
    self.audioChange.map { time < $0 } ?? true
  }

  private mutating func begin(_ descriptions: [CodecDescription]) {
    self.current = descriptions
    if self.current[.audio] == self.latest[.audio] { self.audioChange = nil }
  }
}

extension [CodecDescription] {
  /// That of the first track of a kind.
  fileprivate subscript(kind: MediaKind) -> CodecDescription? { self.first { $0.kind == kind } }
}
