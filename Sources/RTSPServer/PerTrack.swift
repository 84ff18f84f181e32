internal import Media

/// A value for the video track and one for the audio track; nil for a track that a stream does not have.
struct PerTrack<Value> {
  var video: Value?
  var audio: Value?

  subscript(kind: MediaKind) -> Value? {
    get { kind == .video ? self.video : self.audio }
    set {
      switch kind {
      case .video: self.video = newValue
      case .audio: self.audio = newValue
      }
    }
  }

  /// The same tracks with other values.
  func map<Other>(_ transform: (Value) -> Other) -> PerTrack<Other> {
    PerTrack<Other>(video: self.video.map(transform), audio: self.audio.map(transform))
  }
}

extension PerTrack: Sendable where Value: Sendable {}
