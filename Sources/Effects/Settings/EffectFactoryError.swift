/// Why the effects that settings ask for cannot be made.
public enum EffectFactoryError: Error, Hashable, Sendable, CustomStringConvertible {
  /// A net that finds faces is missing or broken.
  case model(FaceModelError)
  /// There is no image for this use.
  case noImage(EffectImageUse)

  /// One line with cause and next step.
  public var description: String {
    switch self {
    case .model(let error): error.description
    case .noImage(let use): "there is no image for the \(use.rawValue) yet; give one first"
    }
  }
}
