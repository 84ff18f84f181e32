import Effects
import Foundation
import Media
import Streaming
import Testing

@testable import VidiconCommand

@Suite("Options of effects")
struct EffectOptionsTests {
  private func options(_ values: (StreamOptions.Key, String)...) throws -> EffectOptions {
    var options = StreamOptions()
    try options.set(values)
    try options.effects.validate()
    return options.effects
  }

  /// The error that ends the program; nil for valid options.
  private func failure(_ values: (StreamOptions.Key, String)..., folder: String = "") async -> VidiconError? {
    do {
      var options = StreamOptions()
      try options.set(values.map { ($0, $1.replacing("DIR", with: folder)) })
      try options.effects.validate()
      _ = try await options.effects.apply(to: LiveStream("live"))
      return nil
    } catch {
      return error as? VidiconError
    }
  }

  @Test func `each option sets its part`() throws {
    let options = try self.options(
      (.faces, "boxes"), (.mask, "./hat.png"), (.maskPart, "eyes"), (.smooth, "0.5"), (.clock, "true"))
    #expect(options.settings.faces == .boxes && options.settings.mask == .image && options.maskFile == "./hat.png")
    #expect(options.settings.maskPart == .eyes && options.settings.smooth == 0.5 && options.settings.clock)
    #expect(try self.options((.mask, "blur")).maskFile == nil)
    #expect(try self.options((.snapshotOn, "smile:a:b")).snapshotFolder == "a:b")
  }

  @Test(arguments: [
    ("logo.png", "logo.png", OverlayPosition.topRight), ("logo.png@left", "logo.png", .left),
    ("logo@2x.png", "logo@2x.png", .topRight), ("a@b@bottom", "a@b", .bottom),
  ])
  func `an overlay is a file and a position`(text: String, file: String, position: OverlayPosition) throws {
    let options = try self.options((.overlay, text))
    #expect(options.overlayFile == file && options.settings.overlay == EffectSettings.Overlay(position: position))
  }

  @Test(arguments: [
    (StreamOptions.Key.faces, "on", "give off, track, boxes, privacy"), (.maskPart, "nose", "give face, eyes, mouth"),
    (.maskPart, "eyes", "add --mask"), (.maskAnchors, "a.json", "add --mask FILE.png"),
    (.mask, "image", "./glasses.png"),
    (.privacyMinFace, "5", "give 2% to 50%"), (.privacyMinFace, "1%", "give 2% to 50%"),
    (.privacyMinFace, "nan%", "give 2% to 50%"), (.smooth, "2", "give 0 to 1"), (.smooth, "nan", "give 0 to 1"),
    (.smooth, "x", "give 0 to 1"),
    (.overlay, "@top", "give FILE@POSITION"), (.clock, "yes", "neither true nor false"),
    (.snapshotOn, "blink:x", "give smile:FOLDER"), (.snapshotOn, "smile:", "give smile:FOLDER"),
  ])
  func `an invalid value is a usage error`(key: StreamOptions.Key, text: String, message: String) async {
    let failure = await self.failure((key, text))
    #expect(
      failure?.exitStatus == 64 && failure?.description.contains(message) == true, "\(String(describing: failure))")
  }

  @Test func `a missing or broken file is reported in one line`() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "vidicon-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }  // A leftover folder is harmless.
    func write(_ name: String, _ bytes: [UInt8]) throws { try Data(bytes).write(to: folder.appending(path: name)) }
    let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52]
    try write("text.png", Array("no image".utf8))
    try write("cut.png", png + [0, 0])
    // 20,000 × 20,000, and an end.
    try write(
      "huge.png",
      png + [0, 0, 0x4E, 0x20, 0, 0, 0x4E, 0x20, 8, 6, 0, 0, 0, 0, 0, 0, 0]
        + [0, 0, 0, 0, 0x49, 0x45, 0x4E, 0x44, 0xAE, 0x42, 0x60, 0x82])
    try write("one.json", Array(#"{"left": [0, 0]}"#.utf8))
    for (key, text, message) in [
      (StreamOptions.Key.mask, "DIR/none.png", "the image does not exist; --mask takes a PNG or JPEG file, oval"),
      (.mask, "DIR/text.png", "neither a PNG nor a JPEG file; save it again as PNG"),
      (.mask, "DIR/cut.png", "the file is truncated"), (.mask, "DIR/huge.png", "has 20000 × 20000 pixels"),
      (.mask, "DIR", "is not a file"), (.overlay, "DIR/none.png@topright", "positions are top-left"),
      (.snapshotOn, "smile:DIR/none", "there is no such folder; create it"),
    ] {
      let failure = await self.failure((key, text), folder: folder.path)
      #expect(failure?.exitStatus == 1, "\(text)")
      #expect(failure?.description.contains(message) == true, "\(String(describing: failure))")
      #expect(failure?.description.contains("\n") == false)
    }
    for (file, message) in [
      ("none.json", "there is no such file"), ("one.json", #""right": the value is not valid; give two numbers"#),
    ] {
      let failure = await self.failure(
        (.mask, "DIR/huge.png"), (.mask, "DIR/x.png"), (.maskAnchors, "DIR/\(file)"), folder: folder.path)
      #expect(failure?.description.contains("x.png") == true)
      #expect(try await self.anchorsFailure(folder.path + "/" + file).contains(message))
    }
  }

  /// The error of a file of anchors beside a valid image.
  private func anchorsFailure(_ path: String) async throws -> String {
    let image = path + ".png"
    let pixel =
      "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    try #require(Data(base64Encoded: pixel)).write(to: URL(filePath: image))
    return await self.failure((.mask, image), (.maskAnchors, path))?.description ?? ""
  }
}
