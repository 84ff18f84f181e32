package import Media

/// An adjustable property of a device, such as exposure, focus, zoom or white balance.
///
/// A snapshot: ``value`` and ``isInactive`` are as of the query. Set it with ``ControllableCapturer/setControl(_:to:)``.
public struct DeviceControl: Hashable, Sendable {
  /// The type of a control's values.
  public enum Kind: String, Hashable, Sendable, CaseIterable {
    /// A number in ``DeviceControl/range``, in steps of ``DeviceControl/step``.
    case integer
    /// 0 or 1.
    case boolean
    /// The value of one of the items in ``DeviceControl/menu``.
    case menu
    /// Has no value: setting it to any number triggers an action.
    case button
  }

  /// One item of a menu control.
  public struct MenuItem: Hashable, Sendable {
    /// The control's value that selects the item, in the unit of ``DeviceControl/range``.
    public let value: Int
    /// Human-readable name of the item, such as "Aperture Priority Mode".
    public let label: String

    /// Creates a menu item from its value and its name for users.
    public init(value: Int, label: String) {
      self.value = value
      self.label = label
    }
  }

  /// The driver's name in lower case with hyphens: "exposure-time-absolute", "focus-absolute", "zoom-absolute".
  public let name: String
  /// The driver's name as it is: "Exposure Time, Absolute".
  public let label: String
  /// Type of the values; determines which of ``range``, ``step`` and ``menu`` apply.
  public let kind: Kind
  /// Minimum and maximum value, in the driver's unit; 0...1 for a boolean, 0...0 for a button. A menu need not have an item
  /// for every value.
  public let range: ClosedRange<Int>
  /// Distance between valid values, counted from the minimum; at least 1.
  public let step: Int
  /// The driver's initial value, in the unit of ``range``.
  public let defaultValue: Int
  /// The current value, in the unit of ``range``; ``defaultValue`` for controls that cannot be read.
  public let value: Int
  /// The items of a menu; empty for other kinds.
  public let menu: [MenuItem]
  /// Whether the value can only be read; setting it is an error.
  public let isReadOnly: Bool
  /// Whether setting the control has no effect now, such as the focus while autofocus is on.
  public let isInactive: Bool

  /// Creates a control; a `step` below 1 becomes 1.
  public init(
    name: String, label: String, kind: Kind, range: ClosedRange<Int>, step: Int = 1, defaultValue: Int, value: Int,
    menu: [MenuItem] = [], isReadOnly: Bool = false, isInactive: Bool = false
  ) {
    self.name = name
    self.label = label
    self.kind = kind
    self.range = range
    self.step = max(1, step)
    self.defaultValue = defaultValue
    self.value = value
    self.menu = menu
    self.isReadOnly = isReadOnly
    self.isInactive = isInactive
  }
}

extension DeviceControl {
  /// Checks that the control accepts a value.
  ///
  /// - Throws: ``VidiconError`` with ``VidiconError/Code/invalidSpecification`` whose next step lists the valid values.
  package func check(_ value: Int, source: String) throws(VidiconError) {
    func error(_ cause: String, _ nextStep: String) -> VidiconError {
      VidiconError(.invalidSpecification, subject: source, cause: cause, nextStep: nextStep)
    }
    if self.isReadOnly { throw error("\(self.name) can only be read", "leave it out") }
    let cause = "\(self.name) cannot be \(value)"
    switch self.kind {
    case .button: return
    case .boolean:
      if value != 0, value != 1 { throw error(cause, "use 0 or 1") }
    case .menu:
      if !self.menu.contains(where: { $0.value == value }) {
        throw error(cause, "use " + self.menu.map { "\($0.value) (\($0.label))" }.joined(separator: ", "))
      }
    case .integer:
      let (distance, overflow) = value.subtractingReportingOverflow(self.range.lowerBound)
      guard self.range.contains(value), overflow || distance % self.step == 0 else {
        let steps = self.step == 1 ? "" : " in steps of \(self.step)"
        throw error(cause, "use \(self.range.lowerBound) to \(self.range.upperBound)\(steps)")
      }
    }
  }
}
