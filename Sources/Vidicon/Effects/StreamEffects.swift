public import Effects
internal import Media
public import Streaming
internal import Synchronization
internal import Threading

/// The effects of a stream by their settings, and the way to change them while it runs: for the web page, the HTTP API and
/// programs alike. Changes happen one after the other.
///
/// ```swift
/// var settings = EffectSettings()
/// settings.mask = .blur
/// try await server.effects(of: stream)?.apply(settings)
/// ```
///
/// Effects that somebody else has given the stream stay, after these.
public final class StreamEffects: Sendable {
  private struct State {
    var settings = EffectSettings()
    var studio: EffectFactory
    /// What was made for the settings.
    var effects: [any VideoEffect] = []
  }

  /// The stream.
  public let stream: LiveStream
  private let turns = AsyncMutex(maximumWaiters: 16)
  private let state: Mutex<State>

  /// The effects of a stream that has none yet.
  ///
  /// - Parameter studio: The images, and where the nets lie.
  public init(_ stream: LiveStream, studio: EffectFactory = EffectFactory()) {
    self.stream = stream
    self.state = Mutex(State(studio: studio))
  }

  /// What is done to the pictures now.
  public var settings: EffectSettings { self.state.withLock { $0.settings } }

  /// Makes what settings ask for, gives it to the stream, and returns then.
  ///
  /// - Parameter mayEndPrivacy: Whether faces that are covered when it is its turn may be shown again.
  /// - Throws: An ``EffectChangeError``, and the effects stay. Where faces were to be covered, and cannot be found, the whole
  ///   picture is covered from then on.
  public func apply(_ settings: EffectSettings, mayEndPrivacy: Bool = true) async throws(EffectChangeError) {
    try await self.change { state throws(EffectChangeError) in
      guard mayEndPrivacy || state.settings.faces != .privacy || settings.faces == .privacy else { throw .staysPrivate }
      state.settings = settings
    }
  }

  /// Sets an image for the settings to refer to; one that shows already is replaced.
  ///
  /// - Parameter file: The bytes of a PNG or JPEG file.
  /// - Throws: An ``EffectChangeError``, and the image stays.
  public func setImage(_ file: [UInt8], for use: EffectImageUse) async throws(EffectChangeError) {
    let result = await WorkerThread.run(named: "image") { () -> Result<OverlayImage, VidiconError> in
      do throws(VidiconError) {
        return .success(try OverlayImage(parsing: file, name: "the image"))
      } catch {
        return .failure(error)
      }
    }
    switch result {
    case .success(let image): try await self.change { $0.studio.images[use] = image }
    case .failure(let error): throw .image(error)
    case nil: throw .noThread
    }
  }

  private func change(
    _ body: (inout State) throws(EffectChangeError) -> Void
  ) async throws(EffectChangeError) {
    guard await self.turns.lock() else { throw .busy }
    defer { self.turns.unlock() }
    var state = self.state.withLock { $0 }
    let earlier = state.effects
    try body(&state)
    let result = await WorkerThread.run(named: "effects") { [settings = state.settings, studio = state.studio] in
      Self.make(settings, in: studio, keeping: earlier)
    }
    switch result {
    case .success(let effects): state.effects = effects
    case .failure(let error) where error.code != .invalidSpecification && state.settings.faces == .privacy:
      // It covers all that is not known to be no face.
      state.effects = [PrivacyMask()]
      self.put(state, inPlaceOf: earlier)
      throw .covered(error)
    case .failure(let error): throw .studio(error)
    case nil: throw .noThread
    }
    self.put(state, inPlaceOf: earlier)
  }

  private static func make(
    _ settings: EffectSettings, in studio: EffectFactory, keeping earlier: [any VideoEffect]
  ) -> Result<[any VideoEffect], VidiconError> {
    do throws(VidiconError) {
      return .success(try studio.effects(for: settings, keeping: earlier))
    } catch {
      return .failure(error)
    }
  }

  private func put(_ state: State, inPlaceOf earlier: [any VideoEffect]) {
    self.state.withLock { $0 = state }
    let others = self.stream.effects.filter { other in !earlier.contains { $0 === other } }
    self.stream.effects = state.effects + others
  }
}
