internal import Libc
internal import Media

/// Speed of a camera's USB connection, which the kernel reports in sysfs.
///
/// A camera that supports USB 3 has the speed of USB 2 behind a hub or a cable of that version, and the kernel then offers
/// the camera's formats for that speed.
package struct USBSpeed: Hashable {
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
  init?(ofNode path: String, in folder: String = "/sys/class/video4linux") {
    guard let name = (realpath(path) ?? path).split(separator: "/").last else { return nil }
    // A video device belongs to an interface of the USB device, or with some drivers to the device itself.
    let files = ["\(folder)/\(name)/device/../speed", "\(folder)/\(name)/device/speed"]
    for file in files {
      if let text = Self.text(of: file), let speed = Double(text), speed > 0 {
        self.megabitsPerSecond = speed
        return
      }
    }
    return nil
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
