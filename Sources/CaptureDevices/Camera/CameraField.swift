internal import Codecs

/// Interlacing of a camera's frames (`enum v4l2_field` of linux/videodev2.h).
enum CameraField: Hashable {
  /// Whole frames that were captured at once.
  case progressive
  /// Whole frames whose odd and even rows were captured one after the other.
  case interlaced(FieldOrder)
  /// Single fields, or two fields one below the other; the value is the kernel's name.
  case separate(String)

  /// Values of the kernel, in the order in which they are requested: some drivers replace one that they do not support by
  /// single fields, others refuse it.
  static let requests: [UInt32] = [1, 4, 0]

  /// - Parameters:
  ///   - value: The driver's value of `field`. `V4L2_FIELD_ANY`, which no driver may return, counts as progressive.
  ///   - height: Rows of a frame. By them `V4L2_FIELD_INTERLACED` has the order of the video standard: the bottom field is first in
  ///     525 lines (NTSC), the top field in all others.
  init(_ value: UInt32, height: UInt32) {
    let names: [UInt32: String] = [
      2: "TOP", 3: "BOTTOM", 5: "SEQ_TB", 6: "SEQ_BT", 7: "ALTERNATE",
    ]
    switch value {
    case 0, 1: self = .progressive
    case 4: self = .interlaced(height == 480 || height == 486 ? .bottomFirst : .topFirst)
    case 8: self = .interlaced(.topFirst)
    case 9: self = .interlaced(.bottomFirst)
    default: self = .separate(names[value] ?? "\(value)")
    }
  }

  /// Order of the fields of interlaced frames; nil for others.
  var order: FieldOrder? {
    if case .interlaced(let order) = self { order } else { nil }
  }

  /// Whether each buffer holds a whole frame with its rows in order.
  var hasWholeFrames: Bool {
    if case .separate = self { false } else { true }
  }
}
