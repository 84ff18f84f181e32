/// Where a camera looks, as far as it tells.
public enum CameraPosition: String, Hashable, Sendable, CaseIterable {
  /// At the user: its picture is mirrored in previews, as people know themselves from the mirror.
  case front
  /// Away from the user.
  case back
  /// A camera that is not part of the machine.
  case external
  /// It does not tell.
  case unspecified
}
