public import Effects
public import Media
public import Streaming
internal import Synchronization
internal import Threading

/// The effects of a stream by their settings, which can change while it runs. Changes run one at a time, in the order of
/// their requests.
///
/// ```swift
/// var settings = EffectSettings()
/// settings.mask = .blur
/// try await server.effects(of: stream)?.apply(settings)
/// ```
///
/// Effects of the stream that were set elsewhere remain, after these.
public final class StreamEffects: Sendable {
  private struct State {
    var settings = EffectSettings()
    var factory: EffectFactory
    /// The effects that the factory made for ``effective``.
    var effects: [any VideoEffect] = []
    /// The other stream that shows this one's source with faces covered; nil for none.
    var hiding: SourcePrivacy.Hiding?

    /// The settings, with faces covered where another stream hides them.
    var effective: EffectSettings {
      guard let hiding else { return self.settings }
      var settings = self.settings
      settings.privacyMinimumFace =
        settings.faces == .privacy ? min(settings.minimumFace, hiding.minimumFace) : hiding.minimumFace
      settings.faces = .privacy
      return settings
    }
  }

  /// The stream whose effects are set.
  public let stream: LiveStream
  private let privacy: SourcePrivacy
  private let mutex = AsyncMutex(maximumWaiters: 16)
  private let state: Mutex<State>

  /// The effects of a stream that has none yet.
  ///
  /// - Parameter factory: The images, and the folder of the face models.
  public convenience init(_ stream: LiveStream, factory: EffectFactory = EffectFactory()) {
    self.init(stream, factory: factory, privacy: .shared)
  }

  /// The effects of a stream that has none yet.
  ///
  /// - Parameter privacy: The streams that may show the same sources.
  package init(_ stream: LiveStream, factory: EffectFactory, privacy: SourcePrivacy) {
    self.stream = stream
    self.privacy = privacy
    self.state = Mutex(State(factory: factory))
    privacy.add(self)
  }

  /// The settings in effect; a change that fails keeps them, except for one that turns privacy on. While another stream
  /// shows the same source with privacy, faces are covered here too.
  public var settings: EffectSettings { self.state.withLock { $0.effective } }

  /// Makes the effects for new settings, and returns when the stream uses them.
  ///
  /// - Parameter mayEndPrivacy: Whether faces that are covered when this change runs may be shown again.
  /// - Throws: ``VidiconError``; the effects stay. `wrongState` where an image is missing, `notPermitted` where
  ///   faces stay covered, also because another stream hides those of the same source, `busy` while 16 other changes wait.
  ///   When faces were to be covered and the face models cannot be used, the whole frame is covered from then on.
  public func apply(_ settings: EffectSettings, mayEndPrivacy: Bool = true) async throws(VidiconError) {
    try await self.apply(settings, mayEndPrivacy: mayEndPrivacy, isRunning: true)
  }

  /// Makes the effects as ``apply(_:mayEndPrivacy:)``, of a stream that is not started where that fails: the error says nothing of its
  /// frames.
  package func applyAtStart(_ settings: EffectSettings) async throws(VidiconError) {
    try await self.apply(settings, mayEndPrivacy: true, isRunning: false)
  }

  private func apply(
    _ settings: EffectSettings, mayEndPrivacy: Bool, isRunning: Bool
  ) async throws(VidiconError) {
    do throws(VidiconError) {
      try await self.change(isRunning: isRunning) { state throws(VidiconError) in
        try self.check(settings, after: state, mayEndPrivacy: mayEndPrivacy)
        state.settings = settings
      }
    } catch {
      // Privacy without models has begun nevertheless.
      await self.privacy.update()
      throw error
    }
    await self.privacy.update()
  }

  private func check(_ settings: EffectSettings, after state: State, mayEndPrivacy: Bool) throws(VidiconError) {
    let current = state.effective
    if !mayEndPrivacy, current.faces == .privacy {
      guard settings.faces == .privacy else {
        throw VidiconError(
          .notPermitted, subject: self.stream.name, cause: "faces are private here",
          nextStep: "end that on the server's machine, or with a password")
      }
      // Larger faces only would be covered.
      guard settings.minimumFace <= current.minimumFace else {
        throw VidiconError(
          .notPermitted, subject: self.stream.name, cause: "faces are private here, small ones too",
          nextStep: "end that on the server's machine, or with a password")
      }
    }
    if let hiding = state.hiding, settings.faces != .privacy, state.settings.faces != .privacy {
      throw VidiconError(
        .notPermitted, subject: self.stream.name,
        cause: "the stream \(hiding.stream) shows the same source with faces covered",
        nextStep: "end privacy in \(hiding.stream) first")
    }
  }

  /// Whether these settings, not another stream's, cover faces.
  var isHiding: Bool { self.state.withLock { $0.settings.faces == .privacy } }

  /// Smallest face that these settings cover.
  var minimumFace: Double { self.state.withLock { $0.settings.minimumFace } }

  /// Whether an effect is one of the settings' effects.
  func owns(_ effect: any VideoEffect) -> Bool {
    self.state.withLock { $0.effects.contains { $0 === effect } }
  }

  /// Covers faces while another stream hides those of the same source.
  func follow() async throws(VidiconError) {
    guard self.state.withLock({ $0.hiding }) != self.privacy.hiding(self.stream) else { return }
    try await self.change { (_: inout State) throws(VidiconError) in }
  }

  /// Sets an image that settings refer to. An image that is shown is replaced.
  ///
  /// - Parameter file: The bytes of a PNG or JPEG file.
  /// - Throws: ``VidiconError``; the image stays.
  public func setImage(_ file: [UInt8], for use: EffectImageUse) async throws(VidiconError) {
    let result = await WorkerThread.run(named: "image") { () -> Result<OverlayImage, VidiconError> in
      do throws(VidiconError) {
        return .success(try OverlayImage(parsing: file, name: "the image"))
      } catch {
        return .failure(error)
      }
    }
    guard let result else { throw .noThread("image") }
    let image = try result.get()
    try await self.change { $0.factory.images[use] = image }
  }

  /// - Parameter isRunning: Whether an error says that whole frames are covered.
  private func change(
    isRunning: Bool = true, _ body: (inout State) throws(VidiconError) -> Void
  ) async throws(VidiconError) {
    guard await self.mutex.lock() else {
      throw VidiconError(
        .busy, subject: self.stream.name, cause: "16 changes of this stream's effects wait already",
        nextStep: "try again in some seconds")
    }
    defer { self.mutex.unlock() }
    var state = self.state.withLock { $0 }
    let earlier = state.effects
    state.hiding = self.privacy.hiding(self.stream)
    try body(&state)
    let result = await WorkerThread.run(named: "effects") { [settings = state.effective, factory = state.factory] in
      Self.make(settings, with: factory, keeping: earlier)
    }
    switch result {
    case .success(let effects): state.effects = effects
    case .failure(let error):
      // Any error other than a missing image, which has one of these codes, concerns the face models.
      guard ![.invalidSpecification, .wrongState].contains(error.code), state.effective.faces == .privacy else {
        throw error
      }
      // Without known faces, the mask covers the whole frame.
      state.effects = [PrivacyMask()]
      self.install(state, inPlaceOf: earlier)
      throw isRunning ? error.withFrameCovered : error
    case nil: throw .noThread("effects")
    }
    self.install(state, inPlaceOf: earlier)
  }

  private static func make(
    _ settings: EffectSettings, with factory: EffectFactory, keeping earlier: [any VideoEffect]
  ) -> Result<[any VideoEffect], VidiconError> {
    do throws(VidiconError) {
      return .success(try factory.effects(for: settings, keeping: earlier))
    } catch {
      return .failure(error)
    }
  }

  private func install(_ state: State, inPlaceOf earlier: [any VideoEffect]) {
    self.privacy.changeEffects(of: self.stream) { effects in
      self.state.withLock { $0 = state }
      effects = state.effects + effects.filter { other in !earlier.contains { $0 === other } }
    }
  }
}

extension EffectSettings {
  /// Smallest face that privacy covers, relative to the frame's shorter side.
  fileprivate var minimumFace: Double { self.privacyMinimumFace ?? Double(PrivacyMask.defaultMinimumFace) }
}

extension VidiconError {
  /// The error of the face models, with the note that the whole frame is covered while it lasts.
  fileprivate var withFrameCovered: VidiconError {
    var error = self
    error.nextStep += "; until then the whole frame is covered"
    return error
  }
}
