/// What a track carries.
public enum MediaKind: String, Hashable, Sendable, CaseIterable {
  /// Pictures.
  case video
  /// Sound.
  case audio
}
