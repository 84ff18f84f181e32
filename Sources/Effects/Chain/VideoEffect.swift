public import Media

/// Modifies frames on their way to the encoder: draws on them, replaces them, or drops them.
///
/// A custom effect:
///
/// ```swift
/// final class Border: VideoEffect {
///   func process(_ frame: inout EffectFrame) -> EffectVerdict {
///     let format = frame.buffer.format
///     frame.withPlane(0) { luma in
///       luma.prefix(format.bytesPerRow[0] * 8).update(repeating: 235)
///     }
///     return .keep
///   }
/// }
/// ```
///
/// An effect belongs to one stream. It is called by one thread at a time, not always the same one.
public protocol VideoEffect: AnyObject, Sendable {
  /// Name in statistics and messages; by default the type's name.
  var name: String { get }
  /// Whether a frame must not be shown without this effect. Where such an effect throws, the whole frame is covered.
  /// Default: `false`.
  var isPrivacy: Bool { get }
  /// Called before the first frame, and again when the frame size or color matrix changes, or when frames are
  /// unrelated to the previous ones: after a switch or rotation of the source.
  func prepare(for format: VideoFormat)
  /// Processes one frame, in order of time.
  ///
  /// An error that it throws is reported once; the frame continues as the effect left it.
  ///
  /// - Parameter frame: An upright I420 frame of the stream's size, not shared. The effect should finish within
  ///   ``EffectFrame/budget``.
  func process(_ frame: inout EffectFrame) throws -> EffectVerdict
}

extension VideoEffect {
  /// Name of the type, such as `Mirror`.
  public var name: String { "\(type(of: self))" }
  /// False: frames may be shown without the effect.
  public var isPrivacy: Bool { false }
  /// Does nothing; implemented by effects that depend on the frame size or keep state between frames.
  public func prepare(for format: VideoFormat) {}
}

/// Result of an effect for a frame.
public enum EffectVerdict: Hashable, Sendable {
  /// The frame continues to the next effect and to the encoder.
  case keep
  /// The frame is withheld from all outputs.
  case drop
  /// The frame is filled with dark gray and continues: its content must not be shown.
  case cover
}
