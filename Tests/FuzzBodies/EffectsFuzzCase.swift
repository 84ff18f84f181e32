internal import Effects
internal import Foundation
internal import NIOCore

/// Checks of images and settings that clients send for effects.
struct EffectsFuzzCase {
  private let bytes: [UInt8]

  init(_ input: ByteBuffer) {
    self.bytes = Array(input.readableBytesView)
  }

  /// Images are decoded or refused, and a decoded image has the size that its header states.
  func checkImage() {
    guard let image = try? OverlayImage(parsing: self.bytes, name: "image") else { return }
    precondition((1...OverlayImage.maximumSide).contains(image.width))
    precondition((1...OverlayImage.maximumSide).contains(image.height))
    precondition(image.pixels.count == 4 * image.width * image.height, "each pixel is there")
    precondition(image.width * image.height <= OverlayImage.maximumPixelCount)
    let again = try? OverlayImage(parsing: self.bytes, name: "image")
    precondition(again == image, "the same bytes are the same image")
  }

  /// Settings are parsed or refused with one line; parsed settings survive a round trip.
  func checkSettings() {
    do {
      let settings = try EffectSettings.parse(json: self.bytes)
      precondition((0...1).contains(settings.smooth))
      for value in [settings.color.brightness, settings.color.contrast, settings.color.saturation] {
        precondition((-1...1).contains(value))
      }
      guard let written = try? JSONEncoder().encode(settings) else { preconditionFailure("settings can be written") }
      precondition((try? EffectSettings.parse(json: [UInt8](written))) == settings, "what is written reads the same")
    } catch {
      precondition(!"\(error)".contains("\n"), "an error is one line")
    }
    _ = try? MaskAnchors.parse(json: self.bytes)
  }
}
