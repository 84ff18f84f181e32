/// Effect implemented by a closure.
///
/// ```swift
/// stream.effects = [
///   ClosureEffect { frame in
///     frame.withPlane(1) { $0.update(repeating: 128) }
///     frame.withPlane(2) { $0.update(repeating: 128) }
///     return .keep
///   }
/// ]
/// ```
public final class ClosureEffect: VideoEffect {
  /// Name in statistics and messages; "closure" by default.
  public let name: String
  private let body: @Sendable (inout EffectFrame) throws -> EffectVerdict

  /// Creates an effect.
  ///
  /// - Parameters:
  ///   - name: Name in statistics and messages.
  ///   - body: Called for each frame, by one thread at a time.
  public init(_ name: String = "closure", _ body: @escaping @Sendable (inout EffectFrame) throws -> EffectVerdict) {
    self.name = name
    self.body = body
  }

  /// Passes the frame to the closure, and returns the closure's verdict.
  public func process(_ frame: inout EffectFrame) throws -> EffectVerdict { try self.body(&frame) }
}
