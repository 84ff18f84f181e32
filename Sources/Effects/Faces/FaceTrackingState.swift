/// Whether the faces that travel with a picture are those that are in it.
public enum FaceTrackingState: String, Hashable, Sendable, CaseIterable {
  /// All parts of the picture were looked at lately.
  case current
  /// The search for faces has not kept up: there may be faces that nobody knows of.
  case behind
  /// Faces cannot be found at all.
  case failed
}
