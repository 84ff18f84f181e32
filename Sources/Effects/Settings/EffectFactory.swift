public import Media

/// Makes the effects that settings ask for, and keeps what those need: the images, and where the models lie.
public struct EffectFactory: Sendable {
  /// The models that find faces.
  public var models: FaceModels
  /// The images by what they are for.
  public var images: [EffectImageUse: OverlayImage]

  /// A studio.
  public init(models: FaceModels = FaceModels(), images: [EffectImageUse: OverlayImage] = [:]) {
    (self.models, self.images) = (models, images)
  }

  /// The effects for settings, in the order in which they belong. Takes its time: models are read, images are scaled.
  ///
  /// - Parameter earlier: Those for the settings before; of them the tracker and the privacy mask go on, with what they know
  ///   of the faces.
  public func effects(
    for settings: EffectSettings, keeping earlier: [any VideoEffect] = []
  ) throws(VidiconError) -> [any VideoEffect] {
    var effects: [any VideoEffect] = []
    if settings.needsFaces { effects.append(try self.tracker(for: settings, keeping: earlier)) }
    if settings.smooth > 0 { effects.append(SkinSmoothing(strength: Float(settings.smooth))) }
    // Before what is drawn on top of it.
    if settings.faces == .privacy { effects.append(Self.kept(of: earlier) ?? PrivacyMask()) }
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
      // A logo takes a quarter of the frame at most.
      effects.append(
        ImageOverlay(image: image, position: overlay.position, opacity: Float(overlay.opacity), part: 0.25))
    }
    if settings.clock { effects.append(TextClock()) }
    return effects
  }

  private func tracker(
    for settings: EffectSettings, keeping earlier: [any VideoEffect]
  ) throws(VidiconError) -> FaceTracker {
    let detection: FaceTracker.Detection = settings.faces == .privacy ? .everyFrame : .background
    if let tracker: FaceTracker = Self.kept(of: earlier) {
      tracker.detection = detection
      return tracker
    }
    return try FaceTracker(models: self.models, settings: FaceTracker.Settings(detection: detection))
  }

  private static func noImage(_ use: EffectImageUse) -> VidiconError {
    VidiconError(
      .invalidSpecification, subject: use.rawValue, cause: "no image has been set for it", nextStep: "set one first")
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

/// What an image that settings of effects refer to is for.
public enum EffectImageUse: String, Hashable, Sendable, CaseIterable {
  /// It is drawn over faces: ``EffectSettings/Mask/image``.
  case mask
  /// It is drawn at one place: ``EffectSettings/overlay``.
  case overlay
}
