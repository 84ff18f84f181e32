public import Media

/// A source of pictures with controls that can be set while it runs, such as a camera.
public protocol ControllableCapturer: VideoCapturer {
  /// What can be set, as it is now; empty when the device is not there.
  var controls: [DeviceControl] { get }

  /// Sets a control.
  ///
  /// - Parameters:
  ///   - name: The ``DeviceControl/name``.
  ///   - value: A value in its range.
  /// - Throws: ``VidiconError``: ``VidiconError/Code/notFound`` without such a control, with the names of those that
  ///   there are, ``VidiconError/Code/invalidSpecification`` when the value is out of range, which it names,
  ///   ``VidiconError/Code/failed`` when the device refuses it or is not there.
  func setControl(_ name: String, to value: Int) throws(VidiconError)
}
