import Effects
import Foundation
import Media
import Streaming
import Testing

@testable import StreamControl

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

  /// The code of the error that a change throws; nil when it succeeds.
  private func code(_ change: () async throws(VidiconError) -> Void) async -> VidiconError.Code? {
    do throws(VidiconError) {
      try await change()
      return nil
    } catch {
      return error.code
    }
  }

  /// Effects whose face models are missing.
  private var effectsWithoutModels: StreamEffects {
    StreamEffects(self.stream, factory: EffectFactory(models: FaceModels(folder: "/nowhere")))
  }

  @Test func `effects are created for the settings, and other effects remain after them`() async throws {
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

  @Test func `an image is set before its settings, and a shown image is replaced`() async throws {
    let effects = StreamEffects(self.stream)
    let settings = self.settings { $0.overlay = .init() }
    #expect(await self.code { () throws(VidiconError) in try await effects.apply(settings) } == .wrongState)
    #expect(effects.settings == EffectSettings() && self.stream.effects.isEmpty)
    try await effects.setImage(self.image, for: .overlay)
    try await effects.apply(settings)
    let shown = self.stream.effects[0]
    try await effects.setImage(self.image, for: .overlay)
    #expect(self.stream.effects.count == 1 && self.stream.effects[0] !== shown)
    await #expect(throws: VidiconError.self) { try await effects.setImage([1, 2, 3], for: .overlay) }
    #expect(effects.settings == settings)
  }

  @Test func `privacy ends only with the permission for that, whatever was set before`() async throws {
    let effects = self.effectsWithoutModels
    try await effects.apply(self.settings { $0.clock = true }, mayEndPrivacy: false)
    // Without models, the whole frame is covered.
    await #expect(throws: VidiconError.self) { try await effects.apply(self.settings { $0.faces = .privacy }) }
    for faces in [EffectSettings.Faces.off, .track, .boxes] {
      let settings = self.settings { $0.faces = faces }
      #expect(
        await self.code { () throws(VidiconError) in try await effects.apply(settings, mayEndPrivacy: false) }
          == .notPermitted)
    }
    let larger = self.settings { ($0.faces, $0.privacyMinimumFace) = (.privacy, 0.2) }
    #expect(
      await self.code { () throws(VidiconError) in try await effects.apply(larger, mayEndPrivacy: false) }
        == .notPermitted)
    #expect(self.stream.effects.map(\.name) == ["PrivacyMask"])
    try await effects.apply(EffectSettings())
    #expect(self.stream.effects.isEmpty)
  }

  @Test func `without models nothing changes, except that privacy covers the whole frame`() async throws {
    let effects = self.effectsWithoutModels
    for settings in [self.settings { $0.mask = .blur }, self.settings { $0.faces = .track }] {
      #expect(await self.code { () throws(VidiconError) in try await effects.apply(settings) } == .notFound)
    }
    #expect(self.stream.effects.isEmpty)
    await #expect {
      try await effects.apply(self.settings { $0.faces = .privacy })
    } throws: { error in
      guard let error = error as? VidiconError else { return false }
      return error.nextStep.contains("run scripts/setup")
        && error.nextStep.hasSuffix("; until then the whole frame is covered")
        && !error.withoutFrameCovered.description.contains("covered")
    }
    #expect(self.stream.effects.map(\.name) == ["PrivacyMask"] && effects.settings.faces == .privacy)
    try await effects.apply(EffectSettings())
    #expect(self.stream.effects.isEmpty)
  }
}
