package import Capture
internal import Media
package import StreamControl

/// The JSON of `/api/devices` and `vidicon devices --json`.
package struct DeviceList: Encodable, Sendable {
  struct Generator: Encodable, Sendable {
    var kind: String
    var specification: String
    var name: String
  }

  var devices: [DeviceEntry]
  var generators: [Generator]
  var restricted: Bool

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
struct DeviceEntry: Encodable, Sendable {
  struct Format: Encodable, Sendable {
    struct Range: Encodable, Sendable {
      var minimum: Double
      var maximum: Double
    }

    var name: String
    var width: Int?
    var height: Int?
    var frameRates: [Double]?
    var frameRateRange: Range?
    var sampleRate: Int?
    var channels: Int?

    init(_ format: CaptureDeviceFormat) {
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

  var kind: String
  var specification: String
  var name: String
  var stableName: String
  var position: String?
  var problem: String?
  var formats: [Format]
  var controls: [ControlEntry]

  init(_ device: CaptureDevice) {
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
struct ControlEntry: Encodable, Sendable {
  struct Choice: Encodable, Sendable {
    var value: Int
    var label: String
  }

  var name: String
  var label: String
  var kind: String
  var minimum: Int
  var maximum: Int
  var step: Int
  var defaultValue: Int
  var value: Int
  var menu: [Choice]?
  var readOnly: Bool
  var inactive: Bool

  init(_ control: DeviceControl) {
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
