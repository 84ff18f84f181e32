public import Media

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

extension EffectSettings {
  /// Parses settings from JSON; each key may be absent, and unknown keys are errors.
  ///
  /// - Throws: A ``VidiconError`` with code `.invalidSpecification` and the key as subject, for an unknown key, and a
  ///   value of another type or out of range.
  public static func parse(json: [UInt8]) throws(VidiconError) -> EffectSettings {
    try EffectSettings.decode(json)
  }
}

extension MaskAnchors {
  /// Parses anchors from JSON, such as `{"left": [0.3, 0.5], "right": [0.7, 0.5]}`.
  ///
  /// - Throws: A ``VidiconError`` with code `.invalidSpecification` and the key as subject.
  public static func parse(json: [UInt8]) throws(VidiconError) -> MaskAnchors {
    try MaskAnchors.decode(json)
  }
}

extension Decodable {
  /// Decodes JSON; errors other than ``VidiconError`` are those of JSON's syntax.
  fileprivate static func decode(_ json: [UInt8]) throws(VidiconError) -> Self {
    do {
      return try JSONDecoder().decode(Self.self, from: Data(json))
    } catch let error as VidiconError {
      throw error
    } catch {
      throw .invalidEffectSetting("", "not valid JSON", "give a JSON object")
    }
  }
}

extension EffectSettings: Codable {
  private enum Key: String, CodingKey, CaseIterable {
    case faces, privacyMinFace, mask, maskPart, maskAnchors, smooth, overlay, clock, color
  }

  /// Decodes settings; absent or null values have their defaults.
  ///
  /// - Throws: A ``VidiconError``; a `DecodingError` for a number that `Double` cannot hold.
  public init(from decoder: any Decoder) throws {
    let members = try JSONMembers(JSONValue(from: decoder), keys: Key.self)
    self.faces = try members.name(.faces, of: Faces.self) ?? .off
    self.privacyMinimumFace = try members.number(.privacyMinFace, in: PrivacyMask.minimumFaceRange)
    self.mask = try members.name(.mask, of: Mask.self)
    self.maskPart = try members.name(.maskPart, of: FaceMask.Part.self) ?? .face
    self.maskAnchors = try members.object(.maskAnchors).map { try MaskAnchors($0, "maskAnchors") }
    self.smooth = try members.number(.smooth, in: 0...1) ?? 0
    self.overlay = try members.object(.overlay).map { try Overlay($0, "overlay") }
    self.clock = try members.boolean(.clock) ?? false
    self.color = try members.object(.color).map { try Color($0, "color") } ?? Color()
  }

  /// Encodes all keys; unset ones as null.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(self.faces.rawValue, forKey: .faces)
    try container.encode(self.privacyMinimumFace, forKey: .privacyMinFace)
    try container.encode(self.mask?.rawValue, forKey: .mask)
    try container.encode(self.maskPart.rawValue, forKey: .maskPart)
    try container.encode(self.maskAnchors, forKey: .maskAnchors)
    try container.encode(self.smooth, forKey: .smooth)
    try container.encode(self.overlay, forKey: .overlay)
    try container.encode(self.clock, forKey: .clock)
    try container.encode(self.color, forKey: .color)
  }
}

extension EffectSettings.Overlay: Encodable {
  private enum Key: String, CodingKey, CaseIterable {
    case position, opacity
  }

  fileprivate init(_ json: JSONValue, _ path: String) throws {
    let members = try JSONMembers(json, path, keys: Key.self)
    self.init()
    self.position = try members.name(.position, of: OverlayPosition.self) ?? self.position
    self.opacity = try members.number(.opacity, in: 0...1) ?? self.opacity
  }

  /// Encodes the keys `position` and `opacity`.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(self.position.rawValue, forKey: .position)
    try container.encode(self.opacity, forKey: .opacity)
  }
}

extension EffectSettings.Color {
  private enum Key: String, CaseIterable {
    case brightness, contrast, saturation, temperature
  }

  fileprivate init(_ json: JSONValue, _ path: String) throws {
    let members = try JSONMembers(json, path, keys: Key.self)
    self.init()
    self.brightness = try members.number(.brightness, in: -1...1) ?? 0
    self.contrast = try members.number(.contrast, in: -1...1) ?? 0
    self.saturation = try members.number(.saturation, in: -1...1) ?? 0
    self.temperature = try members.number(.temperature, in: -1...1) ?? 0
  }
}

extension MaskAnchors {
  /// Decodes anchors.
  ///
  /// - Throws: A ``VidiconError``; a `DecodingError` for a number that `Double` cannot hold.
  public init(from decoder: any Decoder) throws {
    try self.init(JSONValue(from: decoder), "")
  }

  private enum Key: String, CaseIterable {
    case left, right
  }

  fileprivate init(_ json: JSONValue, _ path: String) throws {
    let members = try JSONMembers(json, path, keys: Key.self)
    // Eyes may be outside the image, as with a hat or a beard.
    self.init(left: try members.point(.left, in: -4...5), right: try members.point(.right, in: -4...5))
    let distance = self.right - self.left
    guard (distance * distance).sum() >= 1e-4 else {
      throw VidiconError.invalidEffectSetting(
        path.isEmpty ? "right" : "\(path).right", "the point is the left one", "give another one")
    }
  }
}
