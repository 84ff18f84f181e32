internal import Libc
internal import Media

/// Speed of a camera's USB connection, which the kernel reports in sysfs.
///
/// A camera that supports USB 3 has the speed of USB 2 behind a hub or a cable of that version, and the kernel then offers
/// the camera's formats for that speed.
package struct USBSpeed: Hashable, Sendable {
  /// Megabits per second: 1.5, 12, 480, 5000, 10,000 or 20,000.
  package var megabitsPerSecond: Double

  /// USB 2, where the kernel reports nothing.
  static let highSpeed = USBSpeed(megabitsPerSecond: 480)

  /// - Parameter megabitsPerSecond: Speed of the connection.
  package init(megabitsPerSecond: Double) {
    self.megabitsPerSecond = megabitsPerSecond
  }

  /// Reads the speed of a camera's connection; nil when it is not connected over USB, or the kernel reports none.
  ///
  /// - Parameters:
  ///   - path: The device node, or a link to it.
  ///   - folder: The kernel's folder of video devices.
  package init?(ofNode path: String, in folder: String = "/sys/class/video4linux") {
    let speeds = Self.attributes("speed", ofNode: path, in: folder).compactMap { Double($0) }
    guard let speed = speeds.first(where: { $0 > 0 }) else { return nil }
    self.megabitsPerSecond = speed
  }

  /// Number of the USB bus of a camera, whose bandwidth all devices of it share; nil when it is not connected over USB.
  ///
  /// - Parameters:
  ///   - path: The device node, or a link to it.
  ///   - folder: The kernel's folder of video devices.
  package static func bus(ofNode path: String, in folder: String = "/sys/class/video4linux") -> Int? {
    self.attributes("busnum", ofNode: path, in: folder).lazy.compactMap { Int($0) }.first
  }

  /// Texts of an attribute of the USB device of a camera. A video device belongs to an interface of the USB device, or with some drivers
  /// to the device itself.
  private static func attributes(_ attribute: String, ofNode path: String, in folder: String) -> [String] {
    guard let name = (realpath(path) ?? path).split(separator: "/").last else { return [] }
    let files = ["\(folder)/\(name)/device/../\(attribute)", "\(folder)/\(name)/device/\(attribute)"]
    return files.compactMap { self.text(of: $0) }
  }

  /// Bytes per second that one camera's video can have: 40 MB/s of USB 2, 400 MB/s of the 5 Gb/s of USB 3 and in proportion
  /// of later versions; of USB 1, one isochronous transfer of 1023 bytes per millisecond.
  package var usableBytesPerSecond: Int {
    switch self.megabitsPerSecond {
    case ..<12: 0
    case ..<480: 1_000_000
    case ..<5000: 40_000_000
    default: Int(self.megabitsPerSecond * 80_000)
    }
  }

  private static func text(of path: String) -> String? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: 32)
    let count = read(descriptor, &bytes, bytes.count)
    guard count > 0 else { return nil }
    return String(decoding: bytes[..<count].prefix { $0 > 0x20 }, as: UTF8.self)
  }
}
