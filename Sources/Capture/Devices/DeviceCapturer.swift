public import Media

/// A video capturer with controls that can be set while it runs, such as a camera.
public protocol ControllableCapturer: VideoCapturer {
  /// The controls with their current values; empty when the device is not connected. Queries the device: may block.
  var controls: [DeviceControl] { get }

  /// Sets a control, on any thread, whether or not the capturer is started. May block until the device has answered.
  ///
  /// - Parameters:
  ///   - name: The ``DeviceControl/name``.
  ///   - value: A value in ``DeviceControl/range``.
  /// - Throws: ``VidiconError``: ``VidiconError/Code/notFound`` for an unknown name, with the known ones,
  ///   ``VidiconError/Code/invalidSpecification`` for an invalid value, with the valid ones,
  ///   ``VidiconError/Code/failed`` when the device rejects it or is not connected.
  func setControl(_ name: String, to value: Int) throws(VidiconError)
}

/// A capturer of a device that only one capturer can have open at a time: it must be stopped before another one starts.
package protocol ExclusiveCapturer: VideoCapturer {
  /// Compares this capturer's device with that of another capturer that was not started; may query devices and block.
  func relation(of other: any VideoCapturer) -> DeviceRelation

  /// Creates an unstarted capturer of the same device with the same options, to replace this one.
  func another() -> any VideoCapturer
}

/// The relation between the devices of two capturers.
package enum DeviceRelation: Sendable {
  /// Different devices, or a capturer without a device.
  case otherDevice
  /// The same device with the same options.
  case same
  /// The same device with other options, such as another size.
  case sameWithOtherOptions
}
