/// Which way a camera looks.
public enum CameraPosition: String, Hashable, Sendable, CaseIterable {
  /// At the person in front of the screen, as in a laptop's lid.
  case front
  /// Away from that person.
  case back
  /// A camera of its own, such as one on a USB cable.
  case external
  /// Not known, or no camera.
  case unspecified
}
