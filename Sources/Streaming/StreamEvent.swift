public import Effects
public import Media

/// Something that happens to a running stream and that its owner may want to tell or act on.
public enum StreamEvent: Hashable, Sendable {
  /// A source has come to its end (nil) or failed; viewers see the slate, or hear nothing, until it is back.
  case sourceEnded(MediaKind, VidiconError?)
  /// The source has given no picture for ``VideoSettings/sourceTimeout``; viewers see the slate.
  case sourceSilent
  /// A source gives pictures again after the slate, or sound after its end.
  case sourceBack(MediaKind)
  /// Another source has taken over, see ``LiveStream/switchVideo(to:)`` and ``LiveStream/switchAudio(to:)``.
  case sourceSwitched(MediaKind)
  /// An effect has failed or is too slow, which is told once of each; the stream goes on.
  case effect(EffectReport)
  /// The stream cannot go on; its viewers have been told.
  case failed(VidiconError)
}
