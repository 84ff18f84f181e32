public import Media

/// Changes frames on their way to the encoder: draws on them, replaces them, or takes them out.
///
/// One of one's own is as long as this:
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
/// An effect belongs to one stream. It is called by one thread at a time, but not always by the same one.
public protocol VideoEffect: AnyObject, Sendable {
  /// What statistics and messages call it; the type's name where nothing else is said.
  var name: String { get }
  /// Whether the frame must not be seen without this effect. Where one of these throws, the whole frame is covered;
  /// `false` where nothing else is said.
  var isPrivacy: Bool { get }
  /// Called before the first frame, and again whenever frames get another size or colour matrix, or have nothing in
  /// common with those before: another source has taken over, or the present one was turned.
  func prepare(for format: VideoFormat)
  /// Changes one frame, in order of time.
  ///
  /// What it throws is reported once; the frame goes on as the effect left it.
  ///
  /// - Parameter frame: A frame that is upright, I420, of the stream's size, and not shared. The effect has
  ///   ``EffectFrame/budget`` of time.
  func process(_ frame: inout EffectFrame) throws -> EffectVerdict
}

extension VideoEffect {
  /// The type's name.
  public var name: String { "\(type(of: self))" }
  /// Frames may be seen without it.
  public var isPrivacy: Bool { false }
  /// Does nothing.
  public func prepare(for format: VideoFormat) {}
}

/// What the chain does with a frame after an effect.
public enum EffectVerdict: Hashable, Sendable {
  /// It goes on.
  case keep
  /// The frame is withheld from all outputs.
  case drop
  /// It goes on as a plain, dark one: what it shows must not be seen.
  case cover
}
