/// Effects on a stream's frames, as set by programs, over the network and in configuration files.
///
/// In JSON each key may be absent:
///
/// ```json
/// {
///   "faces": "off", "privacyMinFace": null, "mask": null, "maskPart": "face", "maskAnchors": null, "smooth": 0, "overlay": null,
///   "clock": false, "color": {"brightness": 0, "contrast": 0, "saturation": 0, "temperature": 0}
/// }
/// ```
public struct EffectSettings: Hashable, Sendable {
  /// Face detection mode: whether faces are detected, marked or covered.
  public enum Faces: String, Hashable, Sendable, CaseIterable {
    /// No detection, unless a mask or smoothing needs it.
    case off
    /// Faces are detected and reported.
    case track
    /// Faces are detected, reported, and marked with boxes.
    case boxes
    /// Faces are covered; the whole frame is covered while face positions are unknown.
    case privacy
  }

  /// Mask drawn over faces, see ``FaceMask/Style``.
  public enum Mask: String, Hashable, Sendable, CaseIterable {
    /// A dark oval.
    case oval
    /// The face, blurred.
    case blur
    /// The face, pixelated.
    case pixelate
    /// A dark box.
    case solid
    /// An image.
    case image
  }

  /// An image, such as a logo, at a fixed position of the frame.
  public struct Overlay: Hashable, Sendable {
    /// Position in the frame; ``OverlayPosition/topRight`` by default.
    public var position: OverlayPosition
    /// Opacity from 0 (invisible) to 1, which is the default.
    public var opacity: Double

    /// Creates an overlay; by default opaque, in the top right corner.
    public init(position: OverlayPosition = .topRight, opacity: Double = 1) {
      (self.position, self.opacity) = (position, opacity)
    }
  }

  /// Color adjustments, each from -1 to 1, with 0 for none; see ``ColorAdjust``.
  public struct Color: Hashable, Sendable, Encodable {
    /// Brightness from -1 (darker) to 1 (brighter); 0 changes nothing.
    public var brightness = 0.0
    /// Contrast from -1 (uniform gray) to 1 (twice the differences); 0 changes nothing.
    public var contrast = 0.0
    /// Saturation from -1 (grayscale) to 1 (twice the color); 0 changes nothing.
    public var saturation = 0.0
    /// White balance from -1 (colder, bluer) to 1 (warmer, redder); 0 changes nothing.
    public var temperature = 0.0

    /// Creates an adjustment that changes nothing.
    public init() {}
  }

  /// Face detection mode; ``Faces/off`` by default.
  public var faces = Faces.off
  /// Smallest face that privacy mode searches for, relative to the frame's shorter side; nil for
  /// ``PrivacyMask/defaultMinimumFace``.
  public var privacyMinimumFace: Double?
  /// Mask drawn over each face; nil for none.
  public var mask: Mask?
  /// Part of the face that the mask covers; the whole face by default.
  public var maskPart = FaceMask.Part.face
  /// Points of the mask's image that are mapped to the face; nil for the defaults.
  public var maskAnchors: MaskAnchors?
  /// Strength of skin smoothing, 0 (off) to 1.
  public var smooth = 0.0
  /// The image drawn at a fixed position; nil for none.
  public var overlay: Overlay?
  /// Whether the time of day is drawn into the frame.
  public var clock = false
  /// Color adjustments; none by default.
  public var color = Color()

  /// Creates settings without effects.
  public init() {}

  /// Whether the settings need face detection.
  public var needsFaces: Bool { self.faces != .off || self.mask != nil || self.smooth > 0 }
}
