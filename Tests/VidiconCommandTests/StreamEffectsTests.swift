import Effects
import Foundation
import HTTPServer
import Media
import Streaming
import Testing

@testable import Vidicon

@Suite("Effects of a stream, by their settings")
struct StreamEffectsTests {
  private let stream = LiveStream("live")
  /// One pixel.
  private let image = [UInt8](
    Data(
      base64Encoded:
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")!)

  private func settings(_ body: (inout EffectSettings) -> Void) -> EffectSettings {
    var settings = EffectSettings()
    body(&settings)
    return settings
  }

  @Test func `settings are made effects, and those of others stay after them`() async throws {
    let effects = StreamEffects(self.stream)
    let own = Mirror()
    self.stream.effects = [own]
    try await effects.apply(self.settings { $0.clock = true })
    #expect(self.stream.effects.map(\.name) == ["TextClock", "Mirror"])
    try await effects.apply(self.settings { $0.color.brightness = 0.5 })
    #expect(self.stream.effects.map(\.name) == ["ColorAdjust", "Mirror"])
    #expect(effects.settings.color.brightness == 0.5)
    try await effects.apply(EffectSettings())
    #expect(self.stream.effects.count == 1 && self.stream.effects[0] === own)
  }

  @Test func `an image is given first, and one that shows is replaced`() async throws {
    let effects = StreamEffects(self.stream)
    let settings = self.settings { $0.overlay = .init() }
    await #expect {
      try await effects.apply(settings)
    } throws: { error in
      guard case .studio(let cause) = error as? EffectChangeError else { return false }
      return cause.code == .invalidSpecification && cause.subject == "overlay"
    }
    #expect(effects.settings == EffectSettings() && self.stream.effects.isEmpty)
    try await effects.setImage(self.image, for: .overlay)
    try await effects.apply(settings)
    let shown = self.stream.effects[0]
    try await effects.setImage(self.image, for: .overlay)
    #expect(self.stream.effects.count == 1 && self.stream.effects[0] !== shown)
    await #expect(throws: EffectChangeError.self) { try await effects.setImage([1, 2, 3], for: .overlay) }
    #expect(effects.settings == settings)
  }

  @Test func `privacy is not ended by who may not, however early that one has asked`() async throws {
    let effects = StreamEffects(self.stream, studio: EffectFactory(models: FaceModels(folder: "/nowhere")))
    try await effects.apply(self.settings { $0.clock = true }, mayEndPrivacy: false)
    // Nobody can find faces here, so all is covered.
    await #expect(throws: EffectChangeError.self) { try await effects.apply(self.settings { $0.faces = .privacy }) }
    for faces in [EffectSettings.Faces.off, .track, .boxes] {
      await #expect(throws: EffectChangeError.staysPrivate) {
        try await effects.apply(self.settings { $0.faces = faces }, mayEndPrivacy: false)
      }
    }
    #expect(self.stream.effects.map(\.name) == ["PrivacyMask"])
    try await effects.apply(EffectSettings())
    #expect(self.stream.effects.isEmpty)
  }

  @Test func `without nets nothing is changed, but for privacy, which covers all`() async throws {
    let effects = StreamEffects(self.stream, studio: EffectFactory(models: FaceModels(folder: "/nowhere")))
    await #expect(throws: EffectChangeError.self) { try await effects.apply(self.settings { $0.mask = .blur }) }
    #expect(self.stream.effects.isEmpty)
    await #expect {
      try await effects.apply(self.settings { $0.faces = .privacy })
    } throws: { error in
      "\(error)".contains("run scripts/setup") && "\(error)".hasSuffix("until then the whole picture is covered")
    }
    #expect(self.stream.effects.map(\.name) == ["PrivacyMask"] && effects.settings.faces == .privacy)
    try await effects.apply(EffectSettings())
    #expect(self.stream.effects.isEmpty)
  }

  @Test func `over HTTP each failure has its kind`() async throws {
    let attached = AttachedEffects()
    func code(
      _ settings: EffectSettings, mayEndPrivacy: Bool = true
    ) async -> HTTPServerControl.Failure.Code? {
      do throws(HTTPServerControl.Failure) {
        try await attached.setEffects(settings, of: self.stream, mayEndPrivacy: mayEndPrivacy)
        return nil
      } catch {
        return error.code
      }
    }
    #expect(attached.effects(of: self.stream) as EffectSettings? == nil)
    #expect(await code(EffectSettings()) == .wrongState)
    attached.attach(
      StreamEffects(self.stream, studio: EffectFactory(models: FaceModels(folder: "/nowhere"))), to: self.stream)
    #expect(await code(self.settings { $0.clock = true }) == nil)
    #expect(attached.effects(of: self.stream) == self.settings { $0.clock = true })
    #expect(await code(self.settings { $0.overlay = .init() }) == .invalid)
    #expect(await code(self.settings { $0.faces = .track }) == .failed)
    #expect(await code(self.settings { $0.faces = .privacy }) == .failed)
    #expect(await code(EffectSettings(), mayEndPrivacy: false) == .notPermitted)
  }
}
