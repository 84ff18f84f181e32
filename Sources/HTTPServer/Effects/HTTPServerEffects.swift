public import Effects
public import Streaming

/// What is done to the streams' pictures, as ``HTTPServer`` shows it and lets viewers change it.
public protocol HTTPServerEffects: Sendable {
  /// What is done to a stream's pictures; nil where it cannot be changed. Called on an event loop, so it must not wait.
  func effects(of stream: LiveStream) -> EffectSettings?
  /// Changes what is done to a stream's pictures, and returns when it shows.
  ///
  /// - Parameter mayEndPrivacy: Whether who asks is trusted to show faces that are covered now.
  /// - Throws: Why it was not changed; ``HTTPServerControl/Failure/Code/notPermitted`` where faces are to stay covered,
  ///   ``HTTPServerControl/Failure/Code/invalid`` where an image is missing,
  ///   ``HTTPServerControl/Failure/Code/failed`` where the nets are. Where privacy was asked for, and cannot be had, the whole
  ///   picture is covered then.
  func setEffects(
    _ settings: EffectSettings, of stream: LiveStream, mayEndPrivacy: Bool
  ) async throws(HTTPServerControl.Failure)
  /// Changes the image of a stream's mask or overlay. One that shows already is replaced.
  ///
  /// - Parameter image: The bytes of a PNG or JPEG file.
  /// - Throws: ``HTTPServerControl/Failure/Code/invalid`` for what is no such image, or is too large.
  func setImage(
    _ image: [UInt8], for use: EffectImageUse, of stream: LiveStream
  ) async throws(HTTPServerControl.Failure)
}
