internal import CV4L2
internal import Capture

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
