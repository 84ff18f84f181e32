import Authentication
import Foundation
import NIOCore
import Serving
import Testing

@testable import VidiconCommand

@Suite("Descriptors of a service manager, sd_listen_fds(3)")
struct ListenDescriptorsTests {
  private func descriptors(_ variables: [String: String]) -> [ListenDescriptors.Descriptor] {
    ListenDescriptors(environment: variables, process: 42).all
  }

  @Test func `descriptors are numbered from 3 on, and have the names of their units`() {
    #expect(
      self.descriptors(["LISTEN_PID": "42", "LISTEN_FDS": "2", "LISTEN_FDNAMES": "http:vidicon.hls"]) == [
        .init(number: 3, name: "http"), .init(number: 4, name: "vidicon.hls"),
      ])
  }

  @Test func `a list of names of another length names none`() {
    for names in [nil, "", "a", "a:b:c"] {
      var variables = ["LISTEN_PID": "42", "LISTEN_FDS": "2"]
      variables["LISTEN_FDNAMES"] = names
      #expect(self.descriptors(variables).map(\.name) == ["unknown", "unknown"], "\(names ?? "none")")
    }
  }

  @Test(arguments: [
    [:], ["LISTEN_FDS": "1"], ["LISTEN_PID": "41", "LISTEN_FDS": "1"], ["LISTEN_PID": "42"],
    ["LISTEN_PID": "42", "LISTEN_FDS": "0"], ["LISTEN_PID": "42", "LISTEN_FDS": "-1"],
    ["LISTEN_PID": "42", "LISTEN_FDS": "2147483647"], ["LISTEN_PID": "42", "LISTEN_FDS": "many"],
  ])
  func `there are none for another process, and in a malformed environment`(variables: [String: String]) {
    #expect(self.descriptors(variables) == [])
  }

  @Test func `a kept descriptor is known by its name`() {
    for kept in [
      KeptDescriptor.segments, .socket(.http, wantedPort: 8080), .socket(.webRTCOverTCP, wantedPort: 0),
    ] {
      #expect(KeptDescriptor(name: kept.name) == kept)
    }
    for name in ["", "http", "vidicon", "vidicon.ftp.21", "vidicon.http", "vidicon.http.70000", "vidicon.http.80.1"] {
      #expect(KeptDescriptor(name: name) == nil, "\(name)")
    }
  }

  @Test func `a socket has the address and the port to which it is bound, and a file is none`() throws {
    let stream = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(stream) }
    #expect(PassedSocket(.init(number: stream, name: "a")) == nil, "it has no port")
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let result = withUnsafePointer(to: address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(stream, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    try #require(result == 0)
    let passed = try #require(PassedSocket(.init(number: stream, name: "a")))
    #expect(passed.port > 0 && passed.address == .v4(0x7F00_0001) && !passed.isDatagram && passed.name == "a")
    let file = open("/dev/null", O_RDONLY)
    defer { close(file) }
    #expect(PassedSocket(.init(number: file, name: "b")) == nil)
  }

  @Test func `a memory file has the bytes that were written`() throws {
    let bytes = ByteBuffer(bytes: (0..<100_000).map { UInt8(truncatingIfNeeded: $0 * 7) })
    let file = try #require(MemoryFile.make())
    defer { close(file) }
    #expect(MemoryFile.read(file, maximumLength: 100_000) == nil, "it is empty")
    #expect(MemoryFile.write(bytes, to: file))
    #expect(MemoryFile.read(file, maximumLength: 100_000) == bytes)
    #expect(MemoryFile.read(file, maximumLength: 99_999) == nil)
    #expect(!MemoryFile.write(bytes, to: -1) && MemoryFile.read(-1, maximumLength: 100_000) == nil)
  }
}
