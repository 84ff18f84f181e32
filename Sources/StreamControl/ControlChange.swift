internal import Capture
internal import Media

/// Sets several controls of a camera: all or none.
enum ControlChange {
  /// Validates every value, then sets them: booleans and menus first, since automatic modes lock integer controls. When the
  /// device refuses a value, the controls set before it return to their previous values.
  ///
  /// - Parameters:
  ///   - values: Values by control name; nil selects the default.
  ///   - resettingOthers: Whether writable controls that `values` does not name return to their defaults.
  static func perform(
    _ values: [String: Int?], resettingOthers: Bool, on source: any ControllableCapturer
  ) -> Result<Void, VidiconError> {
    let controls = source.controls
    var steps: [(control: DeviceControl, value: Int)] = []
    do throws(VidiconError) {
      for (name, value) in values.sorted(by: { $0.key < $1.key }) {
        guard let control = controls.first(where: { $0.name == name }) else {
          throw VidiconError(
            .invalidSpecification, subject: name, cause: "the camera has no such control",
            nextStep: "use one of \(controls.map(\.name).sorted().joined(separator: ", "))")
        }
        let value = value ?? control.defaultValue
        try control.check(value, source: "controls")
        steps.append((control, value))
      }
      if resettingOthers {
        for control in controls where control.kind != .button && !control.isReadOnly && values[control.name] == nil {
          steps.append((control, control.defaultValue))
        }
      }
    } catch {
      return .failure(error)
    }
    return self.set(
      steps.filter { $0.control.kind != .integer } + steps.filter { $0.control.kind == .integer }, on: source)
  }

  private static func set(
    _ steps: [(control: DeviceControl, value: Int)], on source: any ControllableCapturer
  ) -> Result<Void, VidiconError> {
    for (index, step) in steps.enumerated() {
      do throws(VidiconError) {
        try source.setControl(step.control.name, to: step.value)
      } catch {
        for earlier in steps[..<index].reversed() where earlier.control.kind != .button {
          // The first failure is the one to report; a control that cannot be restored keeps its new value.
          try? source.setControl(earlier.control.name, to: earlier.control.value)
        }
        return .failure(error)
      }
    }
    return .success(())
  }
}
