import Effects
import Foundation
import Media
import StreamControl
import Streaming
internal import Threading
import Vidicon

/// The effects that the user requests for a stream.
struct EffectOptions: Equatable {
  /// Effect settings, except those that are read from files.
  var settings = EffectSettings()
  var maskFile: String?
  var anchorsFile: String?
  var overlayFile: String?
  /// Folder for a snapshot at each smile; nil for none.
  var snapshotFolder: String?

  mutating func set(faces text: String) throws(VidiconError) {
    self.settings.faces = try Self.name(text, "setting for faces")
  }

  /// Parses a part of the frame's shorter side, such as `5.5%`.
  mutating func set(privacyMinFace text: String) throws(VidiconError) {
    guard text.hasSuffix("%"), let percent = Double(text.dropLast()),
      PrivacyMask.minimumFaceRange.contains(percent / 100)
    else {
      throw .usage(
        quoted(text), "it is not a size of faces", "give 2% to 50% of the frame's shorter side, such as 5.5%")
    }
    self.settings.privacyMinimumFace = percent / 100
  }

  /// Parses the name of a shape, or the path of an image.
  mutating func set(mask text: String) throws(VidiconError) {
    let shape = EffectSettings.Mask(rawValue: text)
    guard text != "image" else {
      throw .usage(quoted(text), "it is not a mask", "give the file, such as ./glasses.png")
    }
    self.settings.mask = shape ?? .image
    self.maskFile = shape == nil ? text : nil
  }

  mutating func set(maskPart text: String) throws(VidiconError) {
    self.settings.maskPart = try Self.name(text, "part of a face")
  }

  mutating func set(smooth text: String) throws(VidiconError) {
    guard let strength = Double(text), (0...1).contains(strength) else {
      throw .usage(quoted(text), "it is not a strength", "give 0 to 1, such as 0.5")
    }
    self.settings.smooth = strength
  }

  /// Parses `FILE` or `FILE@POSITION`; any other text after an `@` is part of the file's name.
  mutating func set(overlay text: String) throws(VidiconError) {
    var (file, position) = (text[...], OverlayPosition.topRight)
    if let sign = text.lastIndex(of: "@"),
      let named = OverlayPosition(rawValue: String(text[text.index(after: sign)...]))
    {
      (file, position) = (text[..<sign], named)
    }
    guard !file.isEmpty else {
      throw .usage(quoted(text), "it names no image", "give FILE@POSITION, such as logo.png@top-right")
    }
    self.settings.overlay = EffectSettings.Overlay(position: position)
    self.overlayFile = String(file)
  }

  mutating func set(snapshotOn text: String) throws(VidiconError) {
    guard text.hasPrefix("smile:"), text != "smile:" else {
      throw .usage(quoted(text), "it is not an event and a folder", "give smile:FOLDER")
    }
    self.snapshotFolder = String(text.dropFirst("smile:".count))
  }

  private static func name<Name: RawRepresentable<String> & CaseIterable>(
    _ text: String, _ what: String
  ) throws(VidiconError) -> Name {
    guard let name = Name(rawValue: text) else {
      throw .usage(quoted(text), "it is not a \(what)", "give \(Name.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    return name
  }

  /// Checks that options of a mask come with a mask.
  func validate() throws(VidiconError) {
    if self.settings.privacyMinimumFace != nil, self.settings.faces != .privacy {
      throw .usage("--privacy-min-face", "it is given without privacy", "add --faces privacy")
    }
    if self.settings.mask == nil, self.settings.maskPart != .face {
      throw .usage("--mask-part", "it is given without a mask", "add --mask, such as --mask blur")
    }
    if self.anchorsFile != nil, self.settings.mask != .image {
      throw .usage("--mask-anchors", "they are given without a mask image", "add --mask FILE.png")
    }
  }
}

extension EffectOptions {
  /// Reads the files, and sets the stream's effects.
  func apply(to stream: LiveStream) async throws -> StreamEffects {
    let loaded = await WorkerThread.run(named: "images") { Result { try self.load() } }
    guard let loaded else { throw VidiconError.noThread("images") }
    let (settings, factory) = try loaded.get()
    let effects = StreamEffects(stream, factory: factory)
    if settings != EffectSettings() {
      do throws(VidiconError) {
        try await effects.applyAtStart(settings)
      } catch {
        throw error.of(stream.name)
      }
    }
    return effects
  }

  /// Checks that the files can be read.
  func checkFiles() throws(VidiconError) {
    _ = try self.load()
  }

  private func load() throws(VidiconError) -> (EffectSettings, EffectFactory) {
    var (settings, factory) = (self.settings, EffectFactory())
    // Smiles are detected on tracked faces only.
    if self.snapshotFolder != nil, settings.faces == .off { settings.faces = .track }
    let positions = OverlayPosition.allCases.map(\.rawValue).joined(separator: ", ")
    if let file = self.maskFile {
      factory.images[.mask] = try Self.image(
        file, hint: "--mask takes a PNG or JPEG file, oval, blur, pixelate or solid")
    }
    if let file = self.overlayFile {
      factory.images[.overlay] = try Self.image(file, hint: "--overlay takes FILE@POSITION; positions are \(positions)")
    }
    if let file = self.anchorsFile { settings.maskAnchors = try Self.anchors(file) }
    try self.checkSnapshotFolder()
    return (settings, factory)
  }

  private static func image(_ path: String, hint: String) throws(VidiconError) -> OverlayImage {
    do throws(VidiconError) {
      return try OverlayImage(path: path)
    } catch {
      var error = error
      if error.code == .notFound { error.nextStep = hint }
      throw error
    }
  }

  private static func anchors(_ path: String) throws(VidiconError) -> MaskAnchors {
    let text = try SettingsText.read(path, option: "--mask-anchors")
    do throws(VidiconError) {
      return try MaskAnchors.parse(json: Array(text.utf8))
    } catch {
      var error = error.of(path.pathWithoutCredentials())
      error.code = .invalidData
      error.nextStep += ", such as {\"left\": [0.3, 0.5], \"right\": [0.7, 0.5]}"
      throw error
    }
  }

  private func checkSnapshotFolder() throws(VidiconError) {
    guard let folder = self.snapshotFolder else { return }
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder), isFolder.boolValue else {
      throw VidiconError(
        .notFound, subject: "--snapshot-on smile:\(folder.pathWithoutCredentials())", cause: "there is no such folder",
        nextStep: "create it (mkdir -p), or give another one")
    }
  }
}
