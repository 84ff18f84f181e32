import Foundation
import TestSupport
import Testing

@testable import VidiconCommand

@Suite("Messages to the service manager", .timeLimit(.minutes(5)))
struct ServiceManagerTests {
  /// The socket of a service manager.
  private struct Manager: ~Copyable {
    let path = NSTemporaryDirectory() + UUID().uuidString.prefix(8)
    private let socket = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)

    /// - Parameter isAbstract: Whether its name is of the abstract namespace, which has no files.
    init(isAbstract: Bool = false) throws {
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      let bytes = (isAbstract ? [0] : []) + Array(self.path.utf8)
      withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
      let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
      let result = withUnsafePointer(to: address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(self.socket, $0, length) }
      }
      try #require(result == 0)
    }

    deinit {
      close(self.socket)
      unlink(self.path)
    }

    /// The next message, and the descriptor with it; nil where there is no message, or none with a descriptor.
    func messageWithDescriptor() -> (lines: [Substring], descriptor: Int32)? {
      var bytes = [UInt8](repeating: 0, count: 4096)
      // A header of a control message is of 16 bytes, and a descriptor is padded to 8.
      var control = [UInt64](repeating: 0, count: 3)
      let socket = self.socket
      let (count, length) = bytes.withUnsafeMutableBytes { bytes in
        control.withUnsafeMutableBytes { control -> (Int, Int) in
          var data = iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)
          return withUnsafeMutablePointer(to: &data) { data -> (Int, Int) in
            var message = msghdr()
            message.msg_iov = data
            message.msg_iovlen = 1
            message.msg_control = control.baseAddress
            message.msg_controllen = control.count
            let count = recvmsg(socket, &message, Int32(MSG_DONTWAIT))
            return (count, Int(message.msg_controllen))
          }
        }
      }
      guard count > 0, length >= 20 else { return nil }
      let descriptor = Int32(truncatingIfNeeded: control[2])
      return (String(decoding: bytes.prefix(count), as: UTF8.self).split(separator: "\n"), descriptor)
    }

    /// The messages that have come, each with its lines.
    func messages() -> [[Substring]] {
      var messages: [[Substring]] = []
      var bytes = [UInt8](repeating: 0, count: 4096)
      while true {
        let count = recv(self.socket, &bytes, bytes.count, Int32(MSG_DONTWAIT))
        guard count > 0 else { return messages }
        messages.append(String(decoding: bytes.prefix(count), as: UTF8.self).split(separator: "\n"))
      }
    }
  }

  @Test func `a message is sent to the socket of the environment, by its path or abstract name`() throws {
    for isAbstract in [false, true] {
      let manager = try Manager(isAbstract: isAbstract)
      let name = (isAbstract ? "@" : "") + manager.path
      let service = try #require(ServiceManager(environment: ["NOTIFY_SOCKET": name]))
      service.send(.ready(status: "live: 1 viewer"))
      service.send(.alive(status: "live: 2 viewers"))
      service.send(.stopping)
      #expect(
        manager.messages() == [
          ["READY=1", "STATUS=live: 1 viewer"], ["WATCHDOG=1", "STATUS=live: 2 viewers"], ["STOPPING=1"],
        ])
    }
  }

  @Test func `a descriptor is sent with its name, and forgotten by it`() throws {
    let manager = try Manager()
    let variables = ["NOTIFY_SOCKET": manager.path]
    #expect(ServiceManager(environment: variables)?.keepsDescriptors == false)
    let service = try #require(ServiceManager(environment: variables.merging(["FDSTORE": "16"]) { $1 }))
    #expect(service.keepsDescriptors)
    let file = try #require(MemoryFile.make(Array("segments".utf8)))
    defer { close(file) }
    service.keep(file, as: "vidicon.hls")
    service.send(.forget(name: "vidicon.hls"))
    let (message, descriptor) = try #require(manager.messageWithDescriptor())
    defer { close(descriptor) }
    #expect(message == ["FDSTORE=1", "FDNAME=vidicon.hls", "FDPOLL=0"])
    #expect(descriptor != file && MemoryFile.read(descriptor) == Array("segments".utf8))
    #expect(manager.messages() == [["FDSTOREREMOVE=1", "FDNAME=vidicon.hls"]])
  }

  @Test func `a sign of life is sent at half of the time of the watchdog, where it is this process's`() {
    func interval(_ variables: [String: String]) -> Duration? {
      ServiceManager(environment: variables.merging(["NOTIFY_SOCKET": "/none"]) { $1 }, process: 7)?.interval
    }
    #expect(interval([:]) == .seconds(10))
    #expect(interval(["WATCHDOG_USEC": "3000000"]) == .milliseconds(1500))
    #expect(interval(["WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "7"]) == .milliseconds(1500))
    #expect(interval(["WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "8"]) == .seconds(10))
    #expect(interval(["WATCHDOG_USEC": "60000000"]) == .seconds(10))
    for text in ["0", "-1", "soon", "99999999999999999999"] {
      #expect(interval(["WATCHDOG_USEC": text]) == .seconds(10))
    }
  }

  @Test(arguments: [nil, "", "relative", "/" + String(repeating: "x", count: 108)])
  func `without a socket that can be named there is no service manager`(name: String?) {
    #expect(ServiceManager(environment: name.map { ["NOTIFY_SOCKET": $0] } ?? [:]) == nil)
  }

  @Test func `the program says when it is ready, lives and stops`() async throws {
    let manager = try Manager()
    let process = Process()
    process.executableURL = try BuiltProgram("vidicon").url
    process.arguments = [
      "serve", "--source", "bars", "--rtsp-port", "0", "--http-port", "0", "--webrtc", "off", "--no-discovery",
    ]
    process.environment = ProcessInfo.processInfo.environment.merging([
      "NOTIFY_SOCKET": manager.path, "WATCHDOG_USEC": "400000",
    ]) { $1 }
    for stream in [\Process.standardOutput, \Process.standardError, \Process.standardInput] {
      process[keyPath: stream] = FileHandle.nullDevice
    }
    try Process.startAlone { try process.run() }
    defer { kill(process.processIdentifier, SIGKILL) }
    var messages: [[Substring]] = []
    try await eventually {
      messages += manager.messages()
      return messages.count { $0.first == "WATCHDOG=1" } >= 2
    }
    #expect(messages.first == ["READY=1", "STATUS=live: 0 viewers"])
    #expect(messages.dropFirst().allSatisfy { $0 == ["WATCHDOG=1", "STATUS=live: 0 viewers"] })
    process.interrupt()
    try await eventually {
      messages += manager.messages()
      return messages.last == ["STOPPING=1"]
    }
  }
}
