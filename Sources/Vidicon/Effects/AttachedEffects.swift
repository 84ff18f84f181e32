internal import Effects
internal import HTTPServer
internal import Media
internal import Streaming
internal import Synchronization

/// The effects of a server's streams.
final class AttachedEffects: Sendable {
  private let effects = Mutex<[ObjectIdentifier: StreamEffects]>([:])

  func attach(_ effects: StreamEffects, to stream: LiveStream) {
    self.effects.withLock { $0[ObjectIdentifier(stream)] = effects }
  }

  /// Gives a stream that has none the means to have effects.
  func attachDefault(to stream: LiveStream) {
    self.effects.withLock { effects in
      guard effects[ObjectIdentifier(stream)] == nil else { return }
      effects[ObjectIdentifier(stream)] = StreamEffects(stream)
    }
  }

  func effects(of stream: LiveStream) -> StreamEffects? {
    self.effects.withLock { $0[ObjectIdentifier(stream)] }
  }

  func detach(from stream: LiveStream) {
    self.effects.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(stream)) }
  }
}

extension AttachedEffects: HTTPServerEffects {
  func effects(of stream: LiveStream) -> EffectSettings? {
    let effects: StreamEffects? = self.effects(of: stream)
    return effects?.settings
  }

  func setEffects(
    _ settings: EffectSettings, of stream: LiveStream, mayEndPrivacy: Bool
  ) async throws(HTTPServerControl.Failure) {
    try await self.change(stream) { (effects) throws(EffectChangeError) in
      try await effects.apply(settings, mayEndPrivacy: mayEndPrivacy)
    }
  }

  func setImage(
    _ image: [UInt8], for use: EffectImageUse, of stream: LiveStream
  ) async throws(HTTPServerControl.Failure) {
    try await self.change(stream) { (effects) throws(EffectChangeError) in
      try await effects.setImage(image, for: use)
    }
  }

  private func change(
    _ stream: LiveStream, _ body: (StreamEffects) async throws(EffectChangeError) -> Void
  ) async throws(HTTPServerControl.Failure) {
    let effects: StreamEffects? = self.effects(of: stream)
    guard let effects else {
      throw HTTPServerControl.Failure(.wrongState, "the stream has ended; its effects cannot be changed any more")
    }
    do throws(EffectChangeError) {
      try await body(effects)
    } catch {
      switch error {
      case .image: throw HTTPServerControl.Failure(.invalid, error.description)
      case .studio(let cause) where cause.code == .invalidSpecification:
        throw HTTPServerControl.Failure(.invalid, error.description)
      case .staysPrivate: throw HTTPServerControl.Failure(.notPermitted, error.description)
      case .studio, .covered: throw HTTPServerControl.Failure(.failed, error.description)
      case .busy, .noThread: throw HTTPServerControl.Failure(.busy, error.description)
      }
    }
  }
}
