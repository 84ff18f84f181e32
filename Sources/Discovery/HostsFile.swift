internal import Libc

/// The names of this machine in `/etc/hosts`, hosts(5).
enum HostsFile {
  private static let path = "/etc/hosts"
  /// Maximum size that is read, in bytes: lists that block sites are long.
  private static let maximumBytes = 1 << 20

  /// The host name, and the names of the lines with an address of this machine.
  ///
  /// Of lines with a loopback address only those with the host name count, as Debian's `127.0.1.1 NAME.DOMAIN NAME`: lists
  /// that block sites map thousands of foreign names to such addresses.
  ///
  /// - Parameters:
  ///   - addresses: Addresses of the machine's interfaces without loopback, 4 or 16 bytes each.
  ///   - hostName: The machine's host name; may be empty.
  static func names(in text: String, of addresses: Set<[UInt8]>, hostName: String) -> [String] {
    var names = hostName.isEmpty ? [] : [hostName.lowercased()]
    let own = hostName.lowercased()
    for line in text.split(whereSeparator: \.isNewline) {
      let words = line.prefix { $0 != "#" }.split { $0 == " " || $0 == "\t" }.map { $0.lowercased() }
      guard let first = words.first, let address = LocalAddress.bytes(of: String(first.prefix { $0 != "%" })) else {
        continue
      }
      let others = words.dropFirst()
      let isOwn = addresses.contains(address) || !own.isEmpty && self.isLoopback(address) && others.contains(own)
      guard isOwn else { continue }
      for name in others where !names.contains(name) { names.append(name) }
    }
    return names
  }

  private static func isLoopback(_ address: [UInt8]) -> Bool {
    address.count == 4 ? address[0] == 127 : address == [UInt8](repeating: 0, count: 15) + [1]
  }

  /// The text of the file; empty when it cannot be read.
  static func read() -> String {
    let descriptor = open(self.path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return "" }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: self.maximumBytes)
    var length = 0
    while length < bytes.count {
      let count = bytes.withUnsafeMutableBytes { buffer in
        systemRead(descriptor, buffer.baseAddress.map { $0 + length }, buffer.count - length)
      }
      guard count > 0 else { break }
      length += count
    }
    return String(decoding: bytes[..<length], as: UTF8.self)
  }
}

/// read(2), whose name the type's own function has.
private func systemRead(_ descriptor: Int32, _ buffer: UnsafeMutableRawPointer?, _ count: Int) -> Int {
  read(descriptor, buffer, count)
}
