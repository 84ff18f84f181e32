internal import Media
package import StreamControl

extension SourceNames {
  /// Parses the body of `PUT /api/streams/NAME/source`: `{"video": SPEC, "audio": SPEC}`, at least one of them.
  package init(_ json: JSONValue) throws(HTTPBodyError) {
    self.init()
    for (key, value) in try json.members(of: #"{"video": SPEC, "audio": SPEC}"#) {
      guard key == "video" || key == "audio" else { throw .unknownKey(key, known: ["video", "audio"]) }
      guard case .string(let text) = value else { throw HTTPBodyError("\"\(key)\" is a source, as text") }
      guard !text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
        throw HTTPBodyError("\"\(key)\" contains a control character")
      }
      if key == "video" { self.video = text } else { self.audio = text }
    }
    if self.video == nil, self.audio == nil {
      throw HTTPBodyError(#"the body is {"video": SPEC, "audio": SPEC}, at least one of them"#)
    }
  }
}

extension StreamChange {
  private enum Key: String, CaseIterable {
    case bitrate, mirror, rotation, mute, pause, controls
  }

  /// Parses the body of `PATCH /api/streams/NAME`, a merge patch (RFC 7396): null restores the default.
  ///
  /// - Parameter startBitrate: The default bitrate, in bits per second.
  package init(_ json: JSONValue, startBitrate: Int) throws(HTTPBodyError) {
    self.init()
    for (name, value) in try json.members(of: "an object") {
      guard let key = Key(rawValue: name) else {
        throw .unknownKey(name, known: Key.allCases.map(\.rawValue))
      }
      switch key {
      case .bitrate: self.bitrate = try Self.bitrate(value) ?? startBitrate
      case .mirror: self.isMirrored = try Self.boolean(value, name)
      case .rotation: self.rotation = try Self.rotation(value)
      case .mute: self.isMuted = try Self.boolean(value, name)
      case .pause: self.isPaused = try Self.boolean(value, name)
      case .controls: try self.setControls(value)
      }
    }
  }

  private static func boolean(_ value: JSONValue, _ name: String) throws(HTTPBodyError) -> Bool {
    switch value {
    case .null: return false
    case .boolean(let value): return value
    default: throw HTTPBodyError("\"\(name)\" is true or false")
    }
  }

  private static func bitrate(_ value: JSONValue) throws(HTTPBodyError) -> Int? {
    if value == .null { return nil }
    guard case .integer(let value) = value, Self.bitrates.contains(value) else {
      throw HTTPBodyError(
        "\"bitrate\" is a whole number from \(Self.bitrates.lowerBound) to \(Self.bitrates.upperBound), in bits per second"
      )
    }
    return value
  }

  private static func rotation(_ value: JSONValue) throws(HTTPBodyError) -> Orientation {
    if value == .null { return .up }
    guard case .integer(let value) = value, let rotation = Orientation(rawValue: value) else {
      throw HTTPBodyError("\"rotation\" is 0, 90, 180 or 270, clockwise")
    }
    return rotation
  }

  private mutating func setControls(_ value: JSONValue) throws(HTTPBodyError) {
    if value == .null {
      self.resetsControls = true
      return
    }
    guard case .object(let members) = value else {
      throw HTTPBodyError("\"controls\" is an object of names and values")
    }
    for (name, value) in members {
      switch value {
      case .null: self.controls[name] = .some(nil)
      case .integer(let value): self.controls[name] = value
      case .boolean(let value): self.controls[name] = value ? 1 : 0
      default: throw HTTPBodyError("\"controls\": \(HTTPBodyError.quoted(name)) is a whole number, true or false")
      }
    }
  }
}

extension JSONValue {
  /// The members of an object sorted by key, so that the same one of several mistakes is always reported.
  fileprivate func members(of form: String) throws(HTTPBodyError) -> [(key: String, value: JSONValue)] {
    guard case .object(let members) = self else { throw HTTPBodyError("the body is \(form)") }
    return members.sorted { $0.key < $1.key }
  }
}

extension HTTPBodyError {
  fileprivate static func unknownKey(_ key: String, known: [String]) -> HTTPBodyError {
    HTTPBodyError("\(Self.quoted(key)) is not a key; the keys are \(known.joined(separator: ", "))")
  }

  /// A key as the client wrote it, at most 40 characters, escaped for a line of text.
  fileprivate static func quoted(_ key: String) -> String {
    let start = key.count > 40 ? key.prefix(40) + "…" : key[...]
    return String(start).debugDescription
  }
}
