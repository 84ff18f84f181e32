import Foundation
import Testing

extension EndToEnd {
  @Suite("Discovery: what Avahi's browser finds", .serialized)
  struct Discovery {
    @Test func `a stream is found as page and as RTSP, with path and port, and is not after the end`() async throws {
      try await MDNSNetwork.with { network in
        let daemon = try await network.startDaemon()
        defer { daemon.kill() }
        let announcer = try AnnouncerProcess(in: network, stream: "front door")
        defer { announcer.child.kill() }
        try await announcer.child.says("announced", times: 2)
        for (type, port) in [("_http._tcp", 8080), ("_rtsp._tcp", 8554)] {
          let records = try await network.browse(type) { $0.count == 2 }
          let expected = [("lo", "127.0.0.1"), ("veth0", "10.200.0.1")].map { interface, address in
            MDNSNetwork.Record(
              interface: interface, name: "front door on myhost", address: address, port: port,
              text: "\"path=/front%20door\"")
          }
          #expect(Set(records) == Set(expected))
        }
        #expect(try await announcer.end() == .status(0))
        #expect(announcer.child.output.text.hasSuffix("stopped\n"))
        #expect(announcer.child.errors.text == "")
        for type in ["_http._tcp", "_rtsp._tcp"] {
          #expect(try await network.browse(type) { $0.isEmpty } == [])
        }
      }
    }

    @Test func `a name that is taken gets a number`() async throws {
      try await MDNSNetwork.with { network in
        let daemon = try await network.startDaemon()
        defer { daemon.kill() }
        let first = try AnnouncerProcess(in: network)
        defer { first.child.kill() }
        try await first.child.says("announced", times: 2)
        let second = try AnnouncerProcess(in: network, http: 8081, rtsp: 8555)
        defer { second.child.kill() }
        try await second.child.says("announced _http._tcp hello on myhost (2)\n")
        let records = try await network.browse("_http._tcp") { $0.count == 4 }
        let names = Dictionary(records.map { ($0.port, $0.name) }) { first, _ in first }
        #expect(names == [8080: "hello on myhost", 8081: "hello on myhost (2)"])
        _ = try await first.end()
        _ = try await second.end()
      }
    }

    @Test func `a server on one address is announced where that is`() async throws {
      try await MDNSNetwork.with { network in
        let daemon = try await network.startDaemon()
        defer { daemon.kill() }
        for (address, interface) in [("127.0.0.1", "lo"), ("10.200.0.1", "veth0")] {
          let announcer = try AnnouncerProcess(in: network, listeningOn: address)
          defer { announcer.child.kill() }
          try await announcer.child.says("announced", times: 2)
          let records = try await network.browse("_rtsp._tcp") { $0.map(\.address) == [address] }
          #expect(records.map(\.interface) == [interface])
          _ = try await announcer.end()
        }
      }
    }

    @Test func `a daemon that is missing, or ends, is told once, and found when it is there`() async throws {
      try await MDNSNetwork.with { network in
        let announcer = try AnnouncerProcess(in: network)
        defer { announcer.child.kill() }
        try await announcer.child.says("unavailable")
        let daemon = try await network.startDaemon()
        defer { daemon.kill() }
        try await announcer.child.says("announced", times: 2, within: .seconds(40))

        daemon.signal(SIGTERM)
        _ = try #require(await daemon.end(within: .seconds(5)))
        try await announcer.child.says("unavailable", times: 2)
        #expect(announcer.child.isRunning)
        let next = try await network.startDaemon()
        defer { next.kill() }
        try await announcer.child.says("announced", times: 4, within: .seconds(40))
        let records = try await network.browse("_http._tcp") { $0.count == 2 }
        #expect(Set(records.map(\.name)) == ["hello on myhost"])
        #expect(announcer.child.output.text.components(separatedBy: "unavailable").count == 3)
        #expect(try await announcer.end() == .status(0))
      }
    }

    @Test func `without a daemon the end is as quick`() async throws {
      try await MDNSNetwork.with { network in
        let announcer = try AnnouncerProcess(in: network)
        defer { announcer.child.kill() }
        try await announcer.child.says("unavailable")
        let start = ContinuousClock.now
        #expect(try await announcer.end() == .status(0))
        #expect(ContinuousClock.now - start < .seconds(2))
      }
    }
  }
}
