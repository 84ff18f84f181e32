/// What is done to a stream's frames, as programs, the network and configuration files say it.
///
/// As JSON each key may be left out:
///
/// ```json
/// {
///   "faces": "off", "mask": null, "maskPart": "face", "maskAnchors": null, "smooth": 0, "overlay": null,
///   "clock": false, "color": {"brightness": 0, "contrast": 0, "saturation": 0, "temperature": 0}
/// }
/// ```
public struct EffectSettings: Hashable, Sendable {
  /// What is done about faces.
  public enum Faces: String, Hashable, Sendable, CaseIterable {
    /// Nothing, unless a mask or smoothing asks for it.
    case off
    /// They are found and reported.
    case track
    /// They are found, reported, and framed in the frame.
    case boxes
    /// They are covered, and the whole frame is where it is not known where they are.
    case privacy
  }

  /// What is drawn over faces.
  public enum Mask: String, Hashable, Sendable, CaseIterable {
    /// A dark oval.
    case oval
    /// The face, blurred.
    case blur
    /// The face as a few squares.
    case pixelate
    /// A dark box.
    case solid
    /// An image.
    case image
  }

  /// An image, such as a logo, at one place of the frame.
  public struct Overlay: Hashable, Sendable {
    /// Where it is.
    public var position: OverlayPosition
    /// 0 (not to be seen) to 1.
    public var opacity: Double

    /// An overlay.
    public init(position: OverlayPosition = .topRight, opacity: Double = 1) {
      (self.position, self.opacity) = (position, opacity)
    }
  }

  /// Changes of the colours, each from -1 to 1, where 0 is none; see ``ColorAdjust``.
  public struct Color: Hashable, Sendable, Encodable {
    /// Darker or brighter.
    public var brightness = 0.0
    /// Flatter, or up to twice the differences.
    public var contrast = 0.0
    /// Paler, or up to twice the colour.
    public var saturation = 0.0
    /// Colder or warmer.
    public var temperature = 0.0

    /// No change.
    public init() {}
  }

  /// What is done about faces.
  public var faces = Faces.off
  /// What is drawn over each face; nil for nothing.
  public var mask: Mask?
  /// What of a face the mask covers.
  public var maskPart = FaceMask.Part.face
  /// What of the mask's image comes to lie upon the face; nil for what fits most images.
  public var maskAnchors: MaskAnchors?
  /// How much faces are smoothed, 0 (not at all) to 1.
  public var smooth = 0.0
  /// The image drawn at one place of the frame; nil for none.
  public var overlay: Overlay?
  /// Whether the time of day is written into the frame.
  public var clock = false
  /// Changes of the colours.
  public var color = Color()

  /// No effects.
  public init() {}

  /// Whether faces have to be found.
  public var needsFaces: Bool { self.faces != .off || self.mask != nil || self.smooth > 0 }
}
