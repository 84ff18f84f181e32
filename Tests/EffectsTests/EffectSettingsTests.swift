import Foundation
import Media
import Testing

@testable import Effects

@Suite("Effect settings")
struct EffectSettingsTests {
  private static func parse(_ text: String) throws(VidiconError) -> EffectSettings {
    try EffectSettings.parse(json: Array(text.utf8))
  }

  @Test func `absent or null settings have their defaults`() throws {
    let keys = ["faces", "mask", "maskPart", "maskAnchors", "smooth", "overlay", "clock", "color"]
    #expect(try Self.parse("{}") == EffectSettings())
    #expect(try Self.parse("{\(keys.map { "\"\($0)\": null" }.joined(separator: ","))}") == EffectSettings())
  }

  @Test func `all settings survive a JSON round trip`() throws {
    let settings = try Self.parse(
      #"""
      {"faces": "privacy", "mask": "image", "maskPart": "eyes", "smooth": 0.5, "clock": true,
       "maskAnchors": {"left": [0.25, 0.5], "right": [0.75, 0.5]},
       "overlay": {"position": "bottom-left", "opacity": 0.25},
       "color": {"brightness": 0.5, "contrast": -0.5, "saturation": -1, "temperature": 1}}
      """#)
    #expect(settings.faces == .privacy && settings.mask == .image && settings.maskPart == .eyes)
    #expect(settings.smooth == 0.5 && settings.clock && settings.color.saturation == -1)
    #expect(settings.maskAnchors == MaskAnchors(left: SIMD2(0.25, 0.5), right: SIMD2(0.75, 0.5)))
    #expect(settings.overlay == EffectSettings.Overlay(position: .bottomLeft, opacity: 0.25))
    for settings in [settings, EffectSettings()] {
      let json = try JSONEncoder().encode(settings)
      #expect(try EffectSettings.parse(json: Array(json)) == settings)
      #expect(try #require(JSONSerialization.jsonObject(with: json) as? [String: Any]).count == 9)
    }
  }

  @Test(arguments: [
    ("[]", "the settings: not a JSON object; give one"), ("", "the settings: not valid JSON; give a JSON object"),
    ("{", "the settings: not valid JSON"), ("7", "the settings: not a JSON object"),
    (#"{"smooth": 1e999}"#, "the settings: not valid JSON"),
    (#"{"smooth": NaN}"#, "the settings: not valid JSON"),
    (#"{"colour": 1}"#, #""colour": there is no such key; the keys are faces, privacyMinFace, mask"#),
    (#"{"faces": "on"}"#, #""faces": the value is not valid; give one of off, track, boxes, privacy"#),
    (#"{"faces": true}"#, #""faces": the value is not valid; give one of"#),
    (#"{"mask": ["oval"]}"#, #""mask": the value is not valid; give one of oval, blur"#),
    (#"{"maskPart": "nose"}"#, #""maskPart": the value is not valid; give one of face, eyes, mouth"#),
    (#"{"smooth": 1.01}"#, #""smooth": the value is not valid; give a number from 0 to 1"#),
    (#"{"smooth": "1"}"#, #""smooth": the value is not valid; give a number"#),
    (#"{"clock": 1}"#, #""clock": the value is not valid; give true or false"#),
    (#"{"overlay": "top"}"#, #""overlay": not a JSON object"#),
    (#"{"overlay": {"place": 1}}"#, #""overlay.place": there is no such key; the keys are position, opacity"#),
    (#"{"color": {"contrast": -2}}"#, #""color.contrast": the value is not valid; give a number from -1 to 1"#),
    (
      #"{"maskAnchors": {"left": [0, 0]}}"#,
      #""maskAnchors.right": the value is not valid; give two numbers from -4 to 5"#
    ),
    (
      #"{"maskAnchors": {"left": [0, 0], "right": [0, 0.001]}}"#,
      #""maskAnchors.right": the point is the left one; give another one"#
    ),
  ])
  func `invalid settings are named in the error`(text: String, message: String) {

    #expect {
      _ = try Self.parse(text)
    } throws: { error in
      (error as? VidiconError).map { $0.description.hasPrefix(message) } ?? false
    }
  }

  @Test func `truncated or deeply nested JSON is an error`() throws {
    let text = #"{"faces": "track", "color": {"contrast": 0.5}, "maskAnchors": {"left": [0, 1], "right": [1, 1]}}"#
    for count in text.indices { #expect(throws: VidiconError.self) { try Self.parse(String(text[..<count])) } }
    let deep = String(repeating: #"{"color":"#, count: 100_000)
    #expect(throws: VidiconError.self) { try Self.parse(deep) }
  }
}

@Suite("Effects made from settings")
struct EffectFactoryTests {
  private let image = OverlayImage(width: 1, height: 1, pixels: [1, 2, 3, 4])

  private func names(_ body: (inout EffectSettings) -> Void) throws -> [String] {
    var settings = EffectSettings()
    body(&settings)
    return try EffectFactory(images: [.mask: self.image, .overlay: self.image]).effects(for: settings).map(\.name)
  }

  @Test func `the requested effects are made, in their fixed order`() throws {
    #expect(try self.names { _ in } == [])
    #expect(try self.names { $0.clock = true } == ["TextClock"])
    #expect(try self.names { $0.mask = .blur } == ["FaceTracker", "FaceMask"])
    #expect(
      try self.names {
        ($0.faces, $0.mask, $0.smooth, $0.overlay, $0.clock) = (.privacy, .image, 1, .init(), true)
        $0.color.contrast = 0.1
      } == ["FaceTracker", "SkinSmoothing", "PrivacyMask", "FaceMask", "ColorAdjust", "ImageOverlay", "TextClock"])
    #expect(try self.names { $0.faces = .boxes } == ["FaceTracker", "FaceBoxes"])
  }

  @Test func `the face tracker and the privacy mask are kept when settings change`() throws {
    var settings = EffectSettings()
    settings.faces = .privacy
    let factory = EffectFactory()
    let first = try factory.effects(for: settings)
    #expect((first[1] as? PrivacyMask)?.hasDetector == true)
    settings.smooth = 0.5
    let second = try factory.effects(for: settings, keeping: first)
    #expect(second[0] === first[0] && second[2] === first[1])
    // A refused change leaves them as they are.
    settings.mask = .image
    #expect(throws: VidiconError.self) { _ = try factory.effects(for: settings, keeping: second) }
    settings.mask = nil
    (settings.faces, settings.overlay) = (.track, .init())
    #expect(throws: VidiconError.self) { _ = try factory.effects(for: settings, keeping: second) }
    #expect((first[1] as? PrivacyMask)?.hasDetector == true)
    settings.overlay = nil
    let third = try factory.effects(for: settings, keeping: second)
    #expect(third[0] === first[0] && !third.contains { $0 is PrivacyMask })
    // A mask that can only cover whole frames is replaced.
    settings.faces = .privacy
    let fourth = try factory.effects(for: settings, keeping: [PrivacyMask()])
    #expect((fourth[2] as? PrivacyMask)?.hasDetector == true)
  }

  @Test func `a missing image and missing models are reported`() throws {
    var settings = EffectSettings()
    (settings.mask, settings.overlay) = (.image, .init())
    func missingImage() -> VidiconError? {
      #expect(throws: VidiconError.self) { _ = try EffectFactory().effects(for: settings) }
    }
    #expect(missingImage()?.description == "mask: no image has been set for it; set one first")
    settings.mask = nil
    #expect(missingImage()?.subject == "overlay")
    #expect(missingImage()?.code == .wrongState)
    settings.faces = .track
    #expect {
      _ = try EffectFactory(models: FaceModels(folder: "/nowhere")).effects(for: settings)
    } throws: { error in
      "\(error)".hasSuffix(
        "the model does not exist; run scripts/setup, or install the package of vidicon again; VIDICON_MODELS names another folder"
      )
    }
  }
}
