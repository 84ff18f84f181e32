internal import CV4L2

extension DeviceControl {
  /// The driver's name of a control in lower case, whatever is no letter or digit become hyphens:
  /// "Exposure Time, Absolute" is "exposure-time-absolute".
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

  /// Whether it takes a value.
  ///
  /// - Throws: ``CaptureError`` that names the range, or the choices.
  func check(_ value: Int, source: String) throws(CaptureError) {
    func error(_ cause: String, _ nextStep: String) -> CaptureError {
      CaptureError(.invalidSpecification, source: source, cause: cause, nextStep: nextStep)
    }
    if self.isReadOnly { throw error("\(self.name) can only be read", "leave it") }
    let wrong = "\(self.name) cannot be \(value)"
    switch self.kind {
    case .button: return
    case .boolean:
      if value != 0, value != 1 { throw error(wrong, "use 0 or 1") }
    case .menu:
      if !self.menu.contains(where: { $0.value == value }) {
        throw error(wrong, "use " + self.menu.map { "\($0.value) (\($0.label))" }.joined(separator: ", "))
      }
    case .integer:
      let (distance, overflow) = value.subtractingReportingOverflow(self.range.lowerBound)
      guard self.range.contains(value), overflow || distance % self.step == 0 else {
        let steps = self.step == 1 ? "" : " in steps of \(self.step)"
        throw error(wrong, "use \(self.range.lowerBound) to \(self.range.upperBound)\(steps)")
      }
    }
  }
}

extension DeviceControl.Kind {
  /// Nil for what has no value that is a number.
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
