internal import CV4L2
internal import Capture
internal import Media
internal import Threading

extension V4L2Device {
  /// A control with the identifier (`V4L2_CID_…`) by which its driver knows it.
  struct NumberedControl {
    var id: UInt32
    var control: DeviceControl
  }

  /// Maximum number of controls, and of items of a menu, that are listed: some drivers enumerate without end.
  private static let maximumCount = 256

  /// The controls with their current values, in the order of their identifiers.
  var controls: [NumberedControl] {
    var controls: [NumberedControl] = []
    var names: Set<String> = []
    var id: UInt32 = 0
    var control = vidicon_v4l2_control()
    for _ in 0..<Self.maximumCount {
      guard vidicon_v4l2_get_control_after(self.descriptor, id, &control) == 0, control.id > id else { break }
      id = control.id
      guard let read = self.read(control, existingNames: names) else { continue }
      names.insert(read.name)
      controls.append(NumberedControl(id: id, control: read))
    }
    return controls
  }

  /// Sets a control by name.
  ///
  /// - Throws: ``VidiconError``; see ``ControllableCapturer/setControl(_:to:)``.
  func setControl(_ name: String, to value: Int, source: String) throws(VidiconError) {
    let controls = self.controls
    guard let found = controls.first(where: { $0.control.name == name }) else {
      let names = controls.map(\.control.name)
      throw VidiconError(
        .notFound, subject: source, cause: "it has no control \"\(name)\"",
        nextStep: names.isEmpty ? "it has none at all" : "use one of \(names.joined(separator: ", "))")
    }
    try found.control.check(value, source: source)
    do throws(V4L2Failure) {
      try self.check(vidicon_v4l2_set_control(self.descriptor, found.id, Int64(value)), .control)
    } catch {
      if error.isGone { throw error.vidiconError(source: source, path: self.path) }
      throw VidiconError(
        .failed, subject: source, cause: "\(name) cannot be set to \(value) (\(systemErrorMessage(error.number)))",
        nextStep: found.control.isInactive
          ? "turn off the automatic control that governs it" : "try another value")
    }
  }

  /// The value of a control by identifier; nil when the device does not have it.
  func value(of id: UInt32) -> Int64? {
    var value: Int64 = 0
    return vidicon_v4l2_get_control(self.descriptor, id, &value) == 0 ? value : nil
  }

  /// Direction the camera faces, from `V4L2_CID_CAMERA_ORIENTATION`.
  var position: CameraPosition {
    switch self.value(of: vidicon_v4l2_camera_orientation) {
    case 0: .front
    case 1: .back
    case 2: .external
    default: .unspecified
    }
  }

  /// Rotation that upright display needs, from `V4L2_CID_CAMERA_SENSOR_ROTATION`.
  var orientation: Orientation {
    // The driver counts counterclockwise.
    switch self.value(of: vidicon_v4l2_sensor_rotation) {
    case 90: .left
    case 180: .down
    case 270: .right
    default: .up
    }
  }

  private func read(_ control: vidicon_v4l2_control, existingNames names: Set<String>) -> DeviceControl? {
    guard !control.is_disabled, control.minimum <= control.maximum,
      let kind = DeviceControl.Kind(control.kind)
    else { return nil }
    let label = text(control.name)
    var name = DeviceControl.name(from: label)
    if name.isEmpty { name = "control-" + String(control.id, radix: 16) }
    if names.contains(name) { name += "-" + String(control.id, radix: 16) }
    // A button's range has no meaning.
    let range = kind == .button ? 0...0 : Int(control.minimum)...Int(control.maximum)
    var value = Int(control.default_value)
    if kind != .button, !control.is_write_only, let now = self.value(of: control.id) { value = Int(now) }
    return DeviceControl(
      name: name, label: label, kind: kind, range: range,
      step: kind == .integer ? Int(clamping: control.step) : 1, defaultValue: Int(control.default_value), value: value,
      menu: kind == .menu ? self.menu(of: control) : [], isReadOnly: control.is_read_only,
      isInactive: control.is_inactive)
  }

  private func menu(of control: vidicon_v4l2_control) -> [DeviceControl.MenuItem] {
    let minimum = max(0, control.minimum)
    let maximum = min(control.maximum, minimum + Int64(Self.maximumCount), Int64(UInt32.max))
    guard minimum <= maximum else { return [] }
    return (minimum...maximum).compactMap { index in
      var name = vidicon_v4l2_control().name
      var number: Int64 = 0
      let status = withUnsafeMutableBytes(of: &name) { bytes in
        vidicon_v4l2_get_menu_item(
          self.descriptor, control.id, UInt32(index), bytes.assumingMemoryBound(to: CChar.self).baseAddress, &number)
      }
      guard status == 0 else { return nil }
      let label = control.kind == VIDICON_V4L2_INTEGER_MENU ? "\(number)" : text(name)
      return DeviceControl.MenuItem(value: Int(index), label: label)
    }
  }
}

extension DeviceControl {
  /// Converts a driver's name to lower case, with one hyphen for each run of other characters than letters and digits:
  /// "Exposure Time, Absolute" becomes "exposure-time-absolute".
  static func name(from label: String) -> String {
    var name = ""
    for byte in label.utf8 {
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"):
        name.unicodeScalars.append(Unicode.Scalar(byte))
      case UInt8(ascii: "A")...UInt8(ascii: "Z"):
        name.unicodeScalars.append(Unicode.Scalar(byte | 0x20))
      default:
        if !name.isEmpty, name.last != "-" { name.append("-") }
      }
    }
    if name.last == "-" { name.removeLast() }
    return name
  }
}

extension DeviceControl.Kind {
  /// Nil for controls whose value is not a number, such as strings and compound types.
  init?(_ kind: vidicon_v4l2_control_kind) {
    switch kind {
    case VIDICON_V4L2_INTEGER: self = .integer
    case VIDICON_V4L2_BOOLEAN: self = .boolean
    case VIDICON_V4L2_MENU, VIDICON_V4L2_INTEGER_MENU: self = .menu
    case VIDICON_V4L2_BUTTON: self = .button
    default: return nil
    }
  }
}
