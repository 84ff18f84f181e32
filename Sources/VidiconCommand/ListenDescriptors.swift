import Foundation
import Libc

/// Descriptors that a service manager passes to the program, sd_listen_fds(3): sockets of a socket unit, and what an earlier run of the
/// program has left with it.
struct ListenDescriptors: Equatable {
  /// A descriptor with its name.
  struct Descriptor: Hashable {
    var number: Int32
    var name: String
  }

  /// Number of the first descriptor, `SD_LISTEN_FDS_START`.
  static let firstNumber: Int32 = 3
  /// Maximum number of descriptors; of more none is used.
  static let maximumCount: Int32 = 1024
  /// The variables of the protocol, which are not meant for programs that this one starts.
  private static let variables = ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"]

  let all: [Descriptor]

  /// The descriptors of an environment; none where it is meant for another process, or is malformed.
  init(environment: [String: String], process: pid_t) {
    guard environment["LISTEN_PID"] == "\(process)", let count = environment["LISTEN_FDS"].flatMap({ Int32($0) }),
      (1...Self.maximumCount).contains(count)
    else {
      self.all = []
      return
    }
    let names = (environment["LISTEN_FDNAMES"] ?? "").split(separator: ":", omittingEmptySubsequences: false)
    self.all = (0..<count).map { index in
      // The name of sd_listen_fds_with_names(3) where there are none.
      let name = names.count == Int(count) ? String(names[Int(index)]) : "unknown"
      return Descriptor(number: Self.firstNumber + index, name: name)
    }
  }

  /// Removes the descriptors from the environment of this process: programs that it starts get neither these nor the variables.
  static func take() -> ListenDescriptors {
    let taken = ListenDescriptors(environment: ProcessInfo.processInfo.environment, process: getpid())
    for variable in Self.variables { unsetenv(variable) }
    // Fails for a number that is not open, which is found to be no socket.
    for descriptor in taken.all { _ = fcntl(descriptor.number, F_SETFD, FD_CLOEXEC) }
    return taken
  }
}
