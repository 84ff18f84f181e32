import CSystemCalls
import Foundation
import Libc
import Media
import Vidicon

/// The service manager that has started the program and waits for its messages, as systemd does of a service with `Type=notify`:
/// sd_notify(3).
struct ServiceManager: Sendable {
  /// Time between two status lines where the service manager has no watchdog.
  private static let statusInterval = Duration.seconds(10)
  /// Maximum length of the path of a socket, in bytes: that of `sun_path`.
  private static let maximumPathLength = MemoryLayout.size(ofValue: sockaddr_un().sun_path)

  private let socket: Int32
  /// The bytes of `sun_path`; the first is zero for a socket of the abstract namespace.
  private let path: [UInt8]
  /// Half of the time within which the service manager expects a sign of life, as sd_watchdog_enabled(3) recommends; else that of the
  /// status.
  let interval: Duration
  /// Maximum number of descriptors that it keeps for the next run of the service: `FDSTORE`, which systemd 254 sets, and the unit of the
  /// package for those before it; 0 where it keeps none.
  let maximumDescriptorCount: Int

  /// The service manager of an environment's `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `FDSTORE`; nil without one.
  init?(environment: [String: String] = ProcessInfo.processInfo.environment, process: pid_t = getpid()) {
    guard let name = environment["NOTIFY_SOCKET"], let first = name.utf8.first else { return nil }
    var path = Array(name.utf8)
    guard path.count < Self.maximumPathLength, [UInt8(ascii: "/"), UInt8(ascii: "@")].contains(first) else {
      return nil
    }
    if first == UInt8(ascii: "@") { path[0] = 0 }
    var interval = Self.statusInterval
    // A parent's watchdog is not this program's.
    let isOwn = environment["WATCHDOG_PID"].map { $0 == "\(process)" } ?? true
    if isOwn, let limit = environment["WATCHDOG_USEC"].flatMap({ Int64($0) }), limit > 0 {
      interval = min(interval, .microseconds(limit / 2))
    }
    #if canImport(Darwin)
    let descriptor = Darwin.socket(AF_UNIX, SOCK_DGRAM, 0)
    #else
    let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    #endif
    guard descriptor >= 0 else { return nil }
    var limit = timeval(tv_sec: 3, tv_usec: 0)
    // On failure a message may be waited with for longer.
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    self.socket = descriptor
    self.path = path
    self.interval = interval
    self.maximumDescriptorCount = max(0, environment["FDSTORE"].flatMap { Int($0) } ?? 0)
  }

  /// Messages of the program.
  enum Message {
    /// The ports answer, and the streams are served.
    case ready(status: String)
    /// The program lives.
    case alive(status: String)
    /// The program ends in order.
    case stopping
    /// Descriptors of a name are not needed any more.
    case forget(name: String)

    fileprivate var isRepeated: Bool { if case .alive = self { true } else { false } }

    fileprivate var text: String {
      switch self {
      case .ready(let status): "READY=1\nSTATUS=\(status)"
      case .alive(let status): "WATCHDOG=1\nSTATUS=\(status)"
      case .stopping: "STOPPING=1"
      case .forget(let name): "FDSTOREREMOVE=1\nFDNAME=\(name)"
      }
    }
  }

  /// Sends a message. One that is sent once waits for seconds where the service manager is busy; it misses a sign of life.
  func send(_ message: Message) {
    let text = Array(message.text.utf8)
    self.withAddress { address, length in
      _ = sendto(self.socket, text, text.count, message.isRepeated ? Int32(MSG_DONTWAIT) : 0, address, length)
    }
  }

  /// Has a copy of a descriptor kept for the next run of the service, which gets it by its name.
  ///
  /// - Returns: Whether it was sent; there is no answer.
  func keep(_ descriptor: Int32, as name: String) -> Bool {
    // Without polling: an error of a socket, such as that of a datagram that was refused, is no reason to drop it.
    let text = Array("FDSTORE=1\nFDNAME=\(name)\nFDPOLL=0".utf8)
    return self.withAddress { address, length in
      vidicon_send_descriptor(self.socket, address, length, text, text.count, descriptor) == 0
    }
  }

  private func withAddress<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: self.path) }
    // No trap: the member exists. The length says where a name of the abstract namespace ends.
    let length = socklen_t(MemoryLayout<sockaddr_un>.offset(of: \.sun_path)! + self.path.count)
    return withUnsafePointer(to: address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
    }
  }

  /// Sends signs of life, as long as the server's event loops run, until the task is cancelled.
  func watch(_ server: CameraServer, status: @Sendable () -> String) async {
    while (try? await Task.sleep(for: self.interval)) != nil {
      await server.waitForEventLoops()
      self.send(.alive(status: status()))
    }
  }
}
