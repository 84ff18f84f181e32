internal import CV4L2
internal import Capture
internal import Media
internal import Threading

extension V4L2Device {
  /// A control as the device numbers it.
  struct NumberedControl {
    var id: UInt32
    var control: DeviceControl
  }

  /// The most controls, and choices of a menu, that are listed: a device that never comes to an end is left there.
  private static let most = 256

  /// What can be set.
  var controls: [NumberedControl] {
    var controls: [NumberedControl] = []
    var names: Set<String> = []
    var id: UInt32 = 0
    var control = vidicon_v4l2_control()
    for _ in 0..<Self.most {
      guard vidicon_v4l2_get_control_after(self.descriptor, id, &control) == 0, control.id > id else { break }
      id = control.id
      guard let read = self.read(control, apartFrom: names) else { continue }
      names.insert(read.name)
      controls.append(NumberedControl(id: id, control: read))
    }
    return controls
  }

  /// Sets a control by name.
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
      if error.isGone { throw error.captureError(source: source, path: self.path) }
      throw VidiconError(
        .failed, subject: source, cause: "\(name) cannot be set to \(value) (\(systemErrorMessage(error.number)))",
        nextStep: found.control.isInactive
          ? "turn the automatic control off that has it now" : "try another value")
    }
  }

  /// The value of a control that is not listed under a name of its own; nil when there is none.
  func value(of id: UInt32) -> Int64? {
    var value: Int64 = 0
    return vidicon_v4l2_get_control(self.descriptor, id, &value) == 0 ? value : nil
  }

  /// Where the camera looks.
  var position: CameraPosition {
    switch self.value(of: vidicon_v4l2_camera_orientation) {
    case 0: .front
    case 1: .back
    case 2: .external
    default: .unspecified
    }
  }

  /// How its pictures are to be turned.
  var orientation: Orientation {
    // The driver counts anticlockwise.
    switch self.value(of: vidicon_v4l2_sensor_rotation) {
    case 90: .left
    case 180: .down
    case 270: .right
    default: .up
    }
  }

  private func read(_ control: vidicon_v4l2_control, apartFrom names: Set<String>) -> DeviceControl? {
    guard !control.is_disabled, control.minimum <= control.maximum,
      let kind = DeviceControl.Kind(control.kind)
    else { return nil }
    let label = text(control.name)
    var name = DeviceControl.name(from: label)
    if name.isEmpty { name = "control-" + String(control.id, radix: 16) }
    if names.contains(name) { name += "-" + String(control.id, radix: 16) }
    // Its range is none that a user could choose from.
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
    let least = max(0, control.minimum)
    let most = min(control.maximum, least + Int64(Self.most), Int64(UInt32.max))
    guard least <= most else { return [] }
    return (least...most).compactMap { index in
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
