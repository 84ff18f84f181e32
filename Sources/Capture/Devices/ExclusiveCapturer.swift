/// A capturer of a device that gives its pictures to one at a time: whoever wants them otherwise must stop it first.
package protocol ExclusiveCapturer: VideoCapturer {
  /// What another capturer, which was not started, is to this one; may ask devices.
  func relation(of other: any VideoCapturer) -> DeviceRelation

  /// A capturer of the same device and with the same wishes, not started: for a stream that had this one.
  func another() -> any VideoCapturer
}

/// What a capturer's device is to that of another one.
package enum DeviceRelation: Sendable {
  /// Another device, or none.
  case otherDevice
  /// The same device, of which the same is wanted.
  case same
  /// The same device, of which something else is wanted: another size, say.
  case sameWithOtherOptions
}
