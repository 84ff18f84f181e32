import Foundation
import NIOCore
import TestSupport
import Testing

@testable import VidiconCommand

@Suite("Messages to the service manager", .timeLimit(.minutes(5)))
struct ServiceManagerTests {
  @Test func `a message is sent to the socket of the environment, by its path or abstract name`() throws {
    for isAbstract in [false, true] {
      let manager = try PlayedServiceManager(isAbstract: isAbstract)
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
    let manager = try PlayedServiceManager()
    let variables = ["NOTIFY_SOCKET": manager.path]
    for (text, count) in [(nil, 0), ("0", 0), ("-1", 0), ("many", 0), ("16", 16)] as [(String?, Int)] {
      var store = variables
      store["FDSTORE"] = text
      #expect(ServiceManager(environment: store)?.maximumDescriptorCount == count)
    }
    let service = try #require(ServiceManager(environment: variables))
    let file = try #require(MemoryFile.make())
    defer { close(file) }
    #expect(MemoryFile.write(ByteBuffer(string: "segments"), to: file))
    #expect(service.keep(file, as: "vidicon.hls"))
    service.send(.forget(name: "vidicon.hls"))
    let (message, descriptor) = try #require(manager.messageWithDescriptor())
    defer { close(descriptor) }
    #expect(message == ["FDSTORE=1", "FDNAME=vidicon.hls", "FDPOLL=0"])
    #expect(descriptor != file && MemoryFile.read(descriptor, maximumLength: 8) == ByteBuffer(string: "segments"))
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
    let manager = try PlayedServiceManager()
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
