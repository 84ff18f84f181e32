internal import Media
package import StreamControl

extension SourceNames {
  /// Parses the body of `PUT /api/streams/NAME/source`: `{"video": SPEC, "audio": SPEC}`, at least one of them.
  package init(_ json: JSONValue) throws(HTTPRefusal) {
    self.init()
    for (key, value) in try json.members(of: #"{"video": SPEC, "audio": SPEC}"#) {
      guard key == "video" || key == "audio" else { throw .unknownKey(key, known: ["video", "audio"]) }
      guard case .string(let text) = value else { throw HTTPRefusal("\"\(key)\" is a source, as text") }
      guard !text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
        throw HTTPRefusal("\"\(key)\" contains a control character")
      }
      if key == "video" { self.video = text } else { self.audio = text }
    }
    if self.video == nil, self.audio == nil {
      throw HTTPRefusal(#"the body is {"video": SPEC, "audio": SPEC}, at least one of them"#)
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
  package init(_ json: JSONValue, startBitrate: Int) throws(HTTPRefusal) {
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

  private static func boolean(_ value: JSONValue, _ name: String) throws(HTTPRefusal) -> Bool {
    switch value {
    case .null: return false
    case .boolean(let value): return value
    default: throw HTTPRefusal("\"\(name)\" is true or false")
    }
  }

  private static func bitrate(_ value: JSONValue) throws(HTTPRefusal) -> Int? {
    if value == .null { return nil }
    guard case .integer(let value) = value, Self.bitrates.contains(value) else {
      throw HTTPRefusal(
        "\"bitrate\" is a whole number from \(Self.bitrates.lowerBound) to \(Self.bitrates.upperBound), in bits per second"
      )
    }
    return value
  }

  private static func rotation(_ value: JSONValue) throws(HTTPRefusal) -> Orientation {
    if value == .null { return .up }
    guard case .integer(let value) = value, let rotation = Orientation(rawValue: value) else {
      throw HTTPRefusal("\"rotation\" is 0, 90, 180 or 270, clockwise")
    }
    return rotation
  }

  private mutating func setControls(_ value: JSONValue) throws(HTTPRefusal) {
    if value == .null {
      self.resetsControls = true
      return
    }
    guard case .object(let members) = value else {
      throw HTTPRefusal("\"controls\" is an object of names and values")
    }
    for (name, value) in members {
      switch value {
      case .null: self.controls[name] = .some(nil)
      case .integer(let value): self.controls[name] = value
      case .boolean(let value): self.controls[name] = value ? 1 : 0
      default: throw HTTPRefusal("\"controls\": \(HTTPRefusal.quoted(name)) is a whole number, true or false")
      }
    }
  }
}

extension JSONValue {
  /// The members of an object sorted by key, so that the same one of several mistakes is always reported.
  fileprivate func members(of form: String) throws(HTTPRefusal) -> [(key: String, value: JSONValue)] {
    guard case .object(let members) = self else { throw HTTPRefusal("the body is \(form)") }
    return members.sorted { $0.key < $1.key }
  }
}

extension HTTPRefusal {
  static func unknownKey(_ key: String, known: [String]) -> HTTPRefusal {
    HTTPRefusal("\(Self.quoted(key)) is not a key; the keys are \(known.joined(separator: ", "))")
  }

  /// A key as the client wrote it, at most 40 characters, escaped for a line of text.
  fileprivate static func quoted(_ key: String) -> String {
    let start = key.count > 40 ? key.prefix(40) + "…" : key[...]
    return String(start).debugDescription
  }
}
