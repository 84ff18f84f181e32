package import HTTPServer
package import Media
package import StreamControl

extension SourceNames {
  private enum Key: String, CaseIterable {
    case video, audio
  }

  /// Parses the body of `PUT /api/streams/NAME/source`: `{"video": SPEC, "audio": SPEC}`, at least one of them.
  package init(_ json: JSONValue) throws(HTTPRefusal) {
    let form = #"{"video": SPEC, "audio": SPEC}"#
    let members = try JSONMembers(json, keys: Key.self, form: form)
    let audio = try members.line(.audio, "is a source, as text")
    self.init(video: try members.line(.video, "is a source, as text"), audio: audio)
    if self.video == nil, self.audio == nil { throw HTTPRefusal("the body is \(form), at least one of them") }
  }
}

extension StreamChange {
  /// Parses the body of `PATCH /api/streams/NAME`, a merge patch (RFC 7396): null restores the default.
  ///
  /// - Parameter startBitrate: The default bitrate, in bits per second.
  package init(_ json: JSONValue, startBitrate: Int) throws(HTTPRefusal) {
    self.init()
    let members = try JSONMembers(json, keys: Key.self, form: "an object")
    func boolean(_ key: Key) throws(HTTPRefusal) -> Bool? {
      try members.value(key, "is true or false") { $0 == .null ? false : $0.boolean }
    }
    self.bitrate = try members.value(
      .bitrate,
      "is a whole number from \(Self.bitrates.lowerBound) to \(Self.bitrates.upperBound), in bits per second"
    ) { json in
      json == .null ? startBitrate : json.integer.flatMap { Self.bitrates.contains($0) ? $0 : nil }
    }
    if let controls = try members.value(.controls, "is an object of names and values", as: \.objectOrNull) {
      try self.setControls(controls)
    }
    self.isMirrored = try boolean(.mirror)
    self.isMuted = try boolean(.mute)
    self.isPaused = try boolean(.pause)
    self.rotation = try members.value(.rotation, "is 0, 90, 180 or 270, clockwise") {
      $0 == .null ? .up : $0.integer.flatMap(Orientation.init)
    }
  }

  /// - Parameter members: Values by name; nil for all defaults.
  private mutating func setControls(_ members: [String: JSONValue]?) throws(HTTPRefusal) {
    guard let members else {
      self.resetsControls = true
      return
    }
    for (name, value) in members.sorted(by: { $0.key < $1.key }) {
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
  /// The members of an object, an inner nil for null; nil for other values.
  fileprivate var objectOrNull: [String: JSONValue]?? {
    switch self {
    case .object(let members): members
    case .null: .some(nil)
    default: nil
    }
  }
}
