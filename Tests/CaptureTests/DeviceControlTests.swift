import Capture
import Media
import Testing

@Suite("Device control")
struct DeviceControlTests {
  private static let brightness = DeviceControl(
    name: "brightness", label: "Brightness", kind: .integer, range: -63...64, step: 2, defaultValue: -1, value: -1)

  @Test(arguments: [-63, -61, 1, 63]) func `a value in range and on a step is accepted`(value: Int) throws {
    try Self.brightness.check(value, source: "v4l2:")
  }

  @Test(arguments: [-64, -62, 0, 64, 65, .min, .max])
  func `the error for an invalid value names the range and the step`(value: Int) {
    let error = #expect(throws: VidiconError.self) { try Self.brightness.check(value, source: "v4l2:") }
    #expect(error?.code == .invalidSpecification)
    #expect(error?.nextStep == "use -63 to 64 in steps of 2")
  }

  @Test func `the widest range accepts every value`() throws {
    let wide = DeviceControl(
      name: "a", label: "a", kind: .integer, range: .min ... .max, defaultValue: 0, value: 0)
    for value in [Int.min, -1, 0, .max] { try wide.check(value, source: "v4l2:") }
  }

  @Test func `menus accept their items, booleans 0 and 1, buttons any value, and read-only controls none`() throws {
    let menu = DeviceControl(
      name: "m", label: "M", kind: .menu, range: 0...3, defaultValue: 1, value: 1,
      menu: [.init(value: 1, label: "Manual"), .init(value: 3, label: "Auto")])
    try menu.check(3, source: "v4l2:")
    let error = #expect(throws: VidiconError.self) { try menu.check(2, source: "v4l2:") }
    #expect(error?.nextStep == "use 1 (Manual), 3 (Auto)")
    let boolean = DeviceControl(name: "b", label: "B", kind: .boolean, range: 0...1, defaultValue: 0, value: 0)
    try boolean.check(1, source: "v4l2:")
    #expect(throws: VidiconError.self) { try boolean.check(2, source: "v4l2:") }
    let button = DeviceControl(name: "p", label: "P", kind: .button, range: 0...0, defaultValue: 0, value: 0)
    try button.check(77, source: "v4l2:")
    let fixed = DeviceControl(
      name: "r", label: "R", kind: .integer, range: 0...1, defaultValue: 0, value: 0, isReadOnly: true)
    #expect(throws: VidiconError.self) { try fixed.check(1, source: "v4l2:") }
  }
}
