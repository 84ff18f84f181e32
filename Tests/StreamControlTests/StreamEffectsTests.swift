import Foundation
import Media
import Streaming
import Testing

@testable import Effects
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

  @Test func `effects that others add during changes stay`() async throws {
    let effects = StreamEffects(self.stream)
    for round in 0..<50 {
      await withTaskGroup(of: Void.self) { group in
        group.addTask { try? await effects.apply(self.settings { $0.clock = round % 2 == 0 }) }
        for _ in 0..<4 { group.addTask { self.stream.changeEffects { $0.append(Mirror()) } } }
      }
    }
    #expect(self.stream.effects.count { $0 is Mirror } == 200 && self.stream.effects.count == 200)
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

  @Test func `a change that is refused for its image leaves a private stream as it is`() async throws {
    let effects = StreamEffects(self.stream)
    try await effects.apply(self.settings { $0.faces = .privacy })
    let (earlier, settings) = (self.stream.effects, effects.settings)
    #expect((earlier.last as? PrivacyMask)?.hasDetector == true)
    for change in [
      self.settings { ($0.faces, $0.overlay) = (.privacy, .init()) },
      self.settings { ($0.faces, $0.mask) = (.privacy, .image) },
    ] {
      #expect(await self.code { () throws(VidiconError) in try await effects.apply(change) } == .wrongState)
      #expect(self.stream.effects.elementsEqual(earlier, by: ===) && effects.settings == settings)
    }
    try await effects.apply(EffectSettings())
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
    }
    // A stream that is not started for it has no frames.
    await #expect {
      try await effects.applyAtStart(self.settings { $0.faces = .privacy })
    } throws: { error in
      error is VidiconError && !"\(error)".contains("covered")
    }
    #expect(self.stream.effects.map(\.name) == ["PrivacyMask"] && effects.settings.faces == .privacy)
    try await effects.apply(EffectSettings())
    #expect(self.stream.effects.isEmpty)
  }

  @Test func `privacy of one stream covers the faces of another that shows the same source already`() async throws {
    let name: SourceSpecification.Video = "file:/\(UUID())/1.mp4"
    let other = LiveStream("other")
    let sources = [StreamSources(self.stream, video: name), StreamSources(other, video: name)]
    let (hiding, open) = (StreamEffects(self.stream), StreamEffects(other))
    try await open.apply(self.settings { $0.clock = true })
    #expect(other.effects.map(\.name) == ["TextClock"])

    try await hiding.apply(self.settings { ($0.faces, $0.privacyMinimumFace) = (.privacy, 0.04) })
    #expect(other.effects.map(\.name) == ["FaceTracker", "PrivacyMask", "TextClock"])
    #expect(open.settings.faces == .privacy && open.settings.privacyMinimumFace == 0.04 && open.settings.clock)
    // The source cannot be shown again while the first stream hides it, but other effects can change.
    #expect(await self.code { () throws(VidiconError) in try await open.apply(EffectSettings()) } == .notPermitted)
    #expect(await self.code { () throws(VidiconError) in try await open.setImage(self.image, for: .mask) } == nil)
    #expect(other.effects.map(\.name) == ["FaceTracker", "PrivacyMask", "TextClock"])

    try await hiding.apply(EffectSettings())
    #expect(self.stream.effects.isEmpty && other.effects.map(\.name) == ["TextClock"])
    #expect(open.settings.faces == .off)
    try await open.apply(EffectSettings())
    #expect(other.effects.isEmpty)
    withExtendedLifetime(sources) {}
  }

  @Test func `two streams that hide the same source both end it`() async throws {
    let name: SourceSpecification.Video = "file:/\(UUID())/1.mp4"
    let other = LiveStream("other")
    let sources = [StreamSources(self.stream, video: name), StreamSources(other, video: name)]
    let both = [StreamEffects(self.stream), StreamEffects(other)]
    for effects in both { try await effects.apply(self.settings { $0.faces = .privacy }) }
    // The second one still hides it.
    try await both[0].apply(EffectSettings())
    #expect(both.map(\.settings.faces) == [.privacy, .privacy] && self.stream.effects.contains { $0.isPrivacy })
    try await both[1].apply(EffectSettings())
    #expect(both.map(\.settings.faces) == [.off, .off] && self.stream.effects.isEmpty && other.effects.isEmpty)
    withExtendedLifetime(sources) {}
  }

  @Test func `without models, and without settings, the whole frame of the other stream is covered`() async throws {
    let name: SourceSpecification.Video = "file:/\(UUID())/1.mp4"
    let (other, third) = (LiveStream("other"), LiveStream("third"))
    let sources = [self.stream, other, third].map { StreamSources($0, video: name) }
    let open = StreamEffects(other, factory: EffectFactory(models: FaceModels(folder: "/nowhere")))
    let hiding = self.effectsWithoutModels
    await #expect(throws: VidiconError.self) { try await hiding.apply(self.settings { $0.faces = .privacy }) }
    for stream in [self.stream, other, third] {
      #expect(stream.effects.map(\.name) == ["PrivacyMask"])
      #expect(stream.effects.allSatisfy { ($0 as? PrivacyMask)?.hasDetector == false })
    }
    #expect(open.settings.faces == .privacy)
    try await hiding.apply(EffectSettings())
    for stream in [self.stream, other, third] { #expect(stream.effects.isEmpty) }
    withExtendedLifetime(sources) {}
  }
}
