import Foundation
import Testing

@testable import CaptureDevices

@Suite("Speed of a USB connection")
struct USBSpeedTests {
  /// Runs with a folder as in sysfs: a video device of an interface, or of the USB device itself.
  private func withFolder(
    speed: String?, bus: String? = nil, ofInterface: Bool = true, _ body: (String) throws -> Void
  ) throws {
    let manager = FileManager.default
    let root = manager.temporaryDirectory.appendingPathComponent("sysfs-\(UUID().uuidString)")
    defer { try? manager.removeItem(at: root) }
    let usb = root.appendingPathComponent("usb1/1-1")
    let parent = ofInterface ? usb.appendingPathComponent("1-1:1.0") : usb
    let device = root.appendingPathComponent("class/video0")
    for folder in [parent, device] { try manager.createDirectory(at: folder, withIntermediateDirectories: true) }
    try manager.createSymbolicLink(at: device.appendingPathComponent("device"), withDestinationURL: parent)
    if let speed { try Data("\(speed)\n".utf8).write(to: usb.appendingPathComponent("speed")) }
    if let bus { try Data("\(bus)\n".utf8).write(to: usb.appendingPathComponent("busnum")) }
    try body(root.appendingPathComponent("class").path)
  }

  @Test(arguments: [
    ("480", 40_000_000), ("5000", 400_000_000), ("10000", 800_000_000), ("12", 1_000_000), ("1.5", 0),
  ]) func `the speed is the kernel's`(text: String, bytesPerSecond: Int) throws {
    for ofInterface in [true, false] {
      try self.withFolder(speed: text, ofInterface: ofInterface) { folder in
        let speed = try #require(USBSpeed(ofNode: "/dev/video0", in: folder))
        #expect(speed.usableBytesPerSecond == bytesPerSecond)
      }
    }
  }

  @Test(arguments: [true, false]) func `the bus is the kernel's`(ofInterface: Bool) throws {
    try self.withFolder(speed: "480", bus: "3", ofInterface: ofInterface) { folder in
      #expect(USBSpeed.bus(ofNode: "/dev/video0", in: folder) == 3)
    }
    try self.withFolder(speed: "480") { #expect(USBSpeed.bus(ofNode: "/dev/video0", in: $0) == nil) }
  }

  @Test func `a link to the node is followed`() throws {
    try self.withFolder(speed: "5000") { folder in
      // The target need not exist in /dev on this machine.
      let target = "\(folder)/video0"
      let link = "\(folder)/../by-id"
      try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
      #expect(USBSpeed(ofNode: link, in: folder) == USBSpeed(megabitsPerSecond: 5000))
    }
  }

  @Test func `without a speed there is none`() throws {
    try self.withFolder(speed: nil) { #expect(USBSpeed(ofNode: "/dev/video0", in: $0) == nil) }
    for text in ["", "fast", "0", "-5"] {
      try self.withFolder(speed: text) { #expect(USBSpeed(ofNode: "/dev/video0", in: $0) == nil) }
    }
    #expect(USBSpeed(ofNode: "/dev/video9", in: "/nowhere") == nil)
  }
}
