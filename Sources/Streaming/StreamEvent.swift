public import Effects
public import Media

/// Event of a running stream: a change of its sources, or a failure.
public enum StreamEvent: Hashable, Sendable {
  /// A source has ended (nil) or failed; the slate or silence replaces it until it is back.
  case sourceEnded(MediaKind, VidiconError?)
  /// The source has delivered no frame for ``VideoSettings/sourceTimeout``; viewers see the slate.
  case sourceSilent
  /// The video source is connected, and decoding cannot start before it sends a keyframe, a recovery point or its parameter sets;
  /// ``sourceBack(_:)`` follows with the first frame after the slate.
  case sourceWaits(VidiconError)
  /// A source delivers frames again after the slate, or audio after its end.
  case sourceBack(MediaKind)
  /// Another source has replaced the current one, see ``LiveStream/switchVideo(to:)`` and
  /// ``LiveStream/switchAudio(to:)``.
  case sourceSwitched(MediaKind)
  /// A source attached while the stream runs could not be opened or delivered nothing; the previous one stays.
  case switchFailed(MediaKind, VidiconError)
  /// An effect has failed or is too slow, reported once per effect; the stream continues.
  case effect(EffectReport)
  /// A rendition cannot be encoded, and its viewers have been disconnected; the stream and its other renditions continue.
  case renditionFailed(String, VidiconError)
  /// The stream has failed; its viewers have been disconnected.
  case failed(VidiconError)
}
