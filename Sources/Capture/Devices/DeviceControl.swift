/// Something that can be set on a device: exposure, focus, zoom, white balance.
public struct DeviceControl: Hashable, Sendable {
  /// What its values are.
  public enum Kind: String, Hashable, Sendable, CaseIterable {
    /// A number in ``DeviceControl/range``, in steps of ``DeviceControl/step``.
    case integer
    /// 0 or 1.
    case boolean
    /// One of ``DeviceControl/menu``.
    case menu
    /// Without a value: setting it to anything does something once.
    case button
  }

  /// One choice of a menu.
  public struct MenuItem: Hashable, Sendable {
    /// What to set the control to.
    public let value: Int
    /// For people.
    public let label: String

    /// A choice.
    public init(value: Int, label: String) {
      self.value = value
      self.label = label
    }
  }

  /// The driver's name in lower case with hyphens: "exposure-time-absolute", "focus-absolute", "zoom-absolute".
  public let name: String
  /// The driver's name, for people.
  public let label: String
  /// What its values are.
  public let kind: Kind
  /// The values it takes: 0...1 of a boolean, 0...0 of a button; of a menu not each one in it need be a choice.
  public let range: ClosedRange<Int>
  /// The distance of two values, counted from the lower end of ``range``; at least 1.
  public let step: Int
  /// What the driver sets it to at first.
  public let defaultValue: Int
  /// What it is set to now.
  public let value: Int
  /// The choices of a menu; empty for other kinds.
  public let menu: [MenuItem]
  /// Whether it can only be read.
  public let isReadOnly: Bool
  /// Whether setting it has no effect now, such as the focus while that is automatic.
  public let isInactive: Bool

  /// A control.
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
