public import Media

/// Creates the effects that settings describe, from images and models.
public struct EffectFactory: Sendable {
  /// Folder of the face models, read by ``effects(for:keeping:)``.
  public var models: FaceModels
  /// Uploaded images by their use; a missing one is an error where the settings need it.
  public var images: [EffectImageUse: OverlayImage]

  /// Creates a factory; by default with the installed models, ``FaceModels/init()``, and without images.
  public init(models: FaceModels = FaceModels(), images: [EffectImageUse: OverlayImage] = [:]) {
    (self.models, self.images) = (models, images)
  }

  /// Creates the effects for settings, in their fixed order. Blocks: models are read, images are scaled.
  ///
  /// - Parameter earlier: The effects of the previous settings; their tracker and privacy mask are reused, with their
  ///   state.
  public func effects(
    for settings: EffectSettings, keeping earlier: [any VideoEffect] = []
  ) throws(VidiconError) -> [any VideoEffect] {
    var effects: [any VideoEffect] = []
    if settings.needsFaces { effects.append(try self.tracker(for: settings, keeping: earlier)) }
    if settings.smooth > 0 { effects.append(SkinSmoothing(strength: Float(settings.smooth))) }
    // Before effects that draw on top of it.
    if settings.faces == .privacy { effects.append(try self.privacyMask(for: settings, keeping: earlier)) }
    if let style = try self.style(for: settings) {
      effects.append(FaceMask(style: style, part: settings.maskPart))
    }
    if settings.faces == .boxes { effects.append(FaceBoxes()) }
    let color = settings.color
    if color != EffectSettings.Color() {
      effects.append(
        ColorAdjust(
          brightness: Float(color.brightness), contrast: Float(color.contrast), saturation: Float(color.saturation),
          temperature: Float(color.temperature)))
    }
    if let overlay = settings.overlay {
      guard let image = self.images[.overlay] else { throw Self.noImage(.overlay) }
      // The overlay takes at most a quarter of the frame.
      effects.append(
        ImageOverlay(image: image, position: overlay.position, opacity: Float(overlay.opacity), part: 0.25))
    }
    if settings.clock { effects.append(TextClock()) }
    return effects
  }

  private func privacyMask(
    for settings: EffectSettings, keeping earlier: [any VideoEffect]
  ) throws(VidiconError) -> PrivacyMask {
    let minimumFace = settings.privacyMinimumFace.map { Float($0) } ?? PrivacyMask.defaultMinimumFace
    // One without a detector is replaced as soon as the models can be used.
    if let mask: PrivacyMask = Self.kept(of: earlier), mask.hasDetector, mask.minimumFace == minimumFace { return mask }
    return try PrivacyMask(models: self.models, minimumFace: minimumFace)
  }

  private func tracker(
    for settings: EffectSettings, keeping earlier: [any VideoEffect]
  ) throws(VidiconError) -> FaceTracker {
    if let tracker: FaceTracker = Self.kept(of: earlier) { return tracker }
    return try FaceTracker(models: self.models)
  }

  private static func noImage(_ use: EffectImageUse) -> VidiconError {
    VidiconError(
      .wrongState, subject: use.rawValue, cause: "no image has been set for it", nextStep: "set one first")
  }

  private static func kept<Effect: VideoEffect>(of effects: [any VideoEffect]) -> Effect? {
    effects.lazy.compactMap { $0 as? Effect }.first
  }

  private func style(for settings: EffectSettings) throws(VidiconError) -> FaceMask.Style? {
    switch settings.mask {
    case nil: return nil
    case .oval: return .oval()
    case .blur: return .blur
    case .pixelate: return .pixelate
    case .solid: return .solid()
    case .image:
      guard let image = self.images[.mask] else { throw Self.noImage(.mask) }
      return .image(image, anchors: settings.maskAnchors)
    }
  }
}

/// Use of an uploaded image: over faces, or at a fixed position.
public enum EffectImageUse: String, Hashable, Sendable, CaseIterable {
  /// Drawn over faces: ``EffectSettings/Mask/image``.
  case mask
  /// Drawn at a fixed position: ``EffectSettings/overlay``.
  case overlay
}
