package import Capture
internal import Media
package import StreamControl

/// The JSON of `/api/devices` and `vidicon devices --json`.
package struct DeviceList: Codable, Hashable, Sendable {
  /// A source that is made by the program, such as a test pattern.
  package struct Generator: Codable, Hashable, Sendable {
    package var kind: String
    package var specification: String
    package var name: String
  }

  package var devices: [DeviceEntry]
  package var generators: [Generator]
  /// Whether devices are missing that an operator may choose.
  package var restricted: Bool

  /// Describes devices and generated sources.
  ///
  /// - Parameter isRestricted: Whether devices are missing that an operator may choose.
  package init(_ devices: [CaptureDevice], generators: [SourceCatalog.Generator], isRestricted: Bool = false) {
    self.devices = devices.map(DeviceEntry.init)
    self.generators = generators.map {
      Generator(kind: $0.kind.rawValue, specification: $0.specification, name: $0.name)
    }
    self.restricted = isRestricted
  }
}

/// The JSON of one device.
package struct DeviceEntry: Codable, Hashable, Sendable {
  /// A pixel or sample format that a device offers.
  package struct Format: Codable, Hashable, Sendable {
    /// Minimum and maximum frame rate, in frames per second.
    package struct Range: Codable, Hashable, Sendable {
      package var minimum: Double
      package var maximum: Double
    }

    package var name: String
    package var width: Int?
    package var height: Int?
    package var frameRates: [Double]?
    package var frameRateRange: Range?
    package var sampleRate: Int?
    package var channels: Int?

    fileprivate init(_ format: CaptureDeviceFormat) {
      self.name = format.name
      (self.width, self.height) = (format.width, format.height)
      (self.sampleRate, self.channels) = (format.sampleRate, format.channels)
      switch format.frameRates {
      case .discrete(let rates): self.frameRates = rates.isEmpty ? nil : rates.map(\.framesPerSecond)
      case .range(let range):
        self.frameRateRange = Range(
          minimum: range.lowerBound.framesPerSecond, maximum: range.upperBound.framesPerSecond)
      }
    }
  }

  package var kind: String
  package var specification: String
  package var name: String
  package var stableName: String
  package var position: String?
  package var problem: String?
  package var formats: [Format]
  package var controls: [ControlEntry]

  /// Describes a device; only cameras have a position.
  package init(_ device: CaptureDevice) {
    self.kind = device.kind.rawValue
    self.specification = device.specification
    self.name = device.name
    self.stableName = device.stableName
    self.position = device.kind == .camera ? device.position.rawValue : nil
    self.problem = device.problem
    self.formats = device.formats.map(Format.init)
    self.controls = device.controls.map(ControlEntry.init)
  }
}

/// The JSON of one control of a device.
package struct ControlEntry: Codable, Hashable, Sendable {
  /// An entry of a menu.
  package struct Choice: Codable, Hashable, Sendable {
    package var value: Int
    package var label: String
  }

  package var name: String
  package var label: String
  package var kind: String
  package var minimum: Int
  package var maximum: Int
  package var step: Int
  package var defaultValue: Int
  package var value: Int
  package var menu: [Choice]?
  package var readOnly: Bool
  package var inactive: Bool

  /// Describes a control with its current value.
  package init(_ control: DeviceControl) {
    self.name = control.name
    self.label = control.label
    self.kind = control.kind.rawValue
    (self.minimum, self.maximum) = (control.range.lowerBound, control.range.upperBound)
    self.step = control.step
    self.defaultValue = control.defaultValue
    self.value = control.value
    self.menu = control.menu.isEmpty ? nil : control.menu.map { Choice(value: $0.value, label: $0.label) }
    self.readOnly = control.isReadOnly
    self.inactive = control.isInactive
  }
}
