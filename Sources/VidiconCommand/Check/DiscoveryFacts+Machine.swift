import CaptureDevices
import Discovery
import Foundation
import Libc

extension DiscoveryFacts {
  /// Asks the daemon of this machine; blocks for up to a second.
  init(_ configuration: ServeConfiguration) {
    self.init(
      isAnnounced: configuration.isAnnounced, daemon: .running, name: NetworkAddresses.localHostName,
      addresses: LocalAddress.all().map(\.text))
    #if os(Linux)
    self.isInContainer = AddressFacts.isInContainer && !SystemService().isRunning
    guard let descriptor = Self.connect() else {
      // Announcements go over D-Bus, which such a container has from the host.
      if self.isInContainer, access("/run/dbus/system_bus_socket", F_OK) == 0 { return }
      let isInstalled = FileManager.default.fileExists(atPath: "/usr/sbin/avahi-daemon")
      self.daemon = isInstalled ? .stopped : .missing
      self.notePort()
      return
    }
    defer { close(descriptor) }
    self.notePort()
    self.resolved = self.name.flatMap { Self.resolve($0, over: descriptor) }
    #endif
  }

  #if os(Linux)
  /// The daemon's socket of its simple protocol, avahi-daemon(8).
  private static let socketPath = "/run/avahi-daemon/socket"

  /// The daemon's configuration, avahi-daemon.conf(5).
  private static let configurationPath = "/etc/avahi/avahi-daemon.conf"

  /// Finds out whether the daemon can have its port, and which program keeps it from that.
  private mutating func notePort() {
    let configuration = try? String(contentsOfFile: Self.configurationPath, encoding: .utf8)
    guard !Self.isExclusive(configuration: configuration ?? ""), Self.isKept(port: Self.port) else { return }
    self.isPortTaken = true
    self.portHolder = PortHolder(of: SocketTable.socketsOfMachine(port: Self.port, .udp))
  }

  /// Whether a UDP port cannot be opened beside the program that has it, as the daemon opens it: with `SO_REUSEADDR`.
  static func isKept(port: Int) -> Bool {
    PortFacts.errorOfOpening(port, .udp, address: "0.0.0.0", isShared: true) == EADDRINUSE
  }

  /// Whether the daemon itself shares its port with no program, as its configuration says.
  static func isExclusive(configuration text: String) -> Bool {
    text.split(whereSeparator: \.isNewline).contains { line in
      let parts = line.split(separator: "=", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
      // The daemon reads the first letter of the value only.
      guard parts.count == 2, parts[0] == "disallow-other-stacks", let letter = parts[1].first else { return false }
      return "yYtT1".contains(letter)
    }
  }

  private static func connect() -> Int32? {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let path = Array(Self.socketPath.utf8)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path) }
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    guard descriptor >= 0 else { return nil }
    var limit = timeval(tv_sec: 1, tv_usec: 0)
    for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
      setsockopt(descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
    }
    let status = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    if status == 0 { return descriptor }
    close(descriptor)
    return nil
  }

  /// The IPv4 address of a name: the daemon answers `+ INTERFACE PROTOCOL NAME ADDRESS`; nil for another answer, and for none in time.
  private static func resolve(_ name: String, over descriptor: Int32) -> String? {
    let request = Array("RESOLVE-HOSTNAME-IPV4 \(name)\n".utf8)
    guard send(descriptor, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else { return nil }
    var answer = [UInt8](repeating: 0, count: 512)
    let count = recv(descriptor, &answer, answer.count, 0)
    guard count > 0 else { return nil }
    let words = String(decoding: answer[..<count], as: UTF8.self).split(whereSeparator: \.isWhitespace)
    return words.count >= 5 && words[0] == "+" ? String(words[4]) : nil
  }
  #endif
}
