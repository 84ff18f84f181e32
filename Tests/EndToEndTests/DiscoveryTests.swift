import Foundation
import Testing

extension EndToEnd {
  @Suite("Discovery: services that avahi-browse finds")
  struct Discovery {
    /// Part of the warning about a missing daemon.
    private static let missing = "streams cannot be found by name"

    @Test func `a name that is taken gets a number`() async throws {
      try await MDNSNetwork.with { network in
        let daemon = try await network.startDaemon()
        defer { daemon.kill() }
        let first = try AnnouncerProcess(in: network)
        defer { first.child.kill() }
        try await first.child.says("\"event\":\"announced\"", times: 2)
        let second = try AnnouncerProcess(in: network, http: 8081, rtsp: 8555)
        defer { second.child.kill() }
        try await second.child.says("\"\(AnnouncerProcess.name(of: "hello")) (2)\"", times: 2)
        let records = try await network.browse("_http._tcp") { $0.count == 4 }
        let name = AnnouncerProcess.name(of: "hello")
        let names = Dictionary(records.map { ($0.port, $0.name) }) { first, _ in first }
        #expect(names == [8080: name, 8081: "\(name) (2)"])
        _ = try await first.end()
        _ = try await second.end()
      }
    }

    @Test func `a server on one address is announced on the interface of that address`() async throws {
      try await MDNSNetwork.with { network in
        let daemon = try await network.startDaemon()
        defer { daemon.kill() }
        for (address, interface) in [("127.0.0.1", "lo"), ("10.200.0.1", "veth0")] {
          let announcer = try AnnouncerProcess(in: network, listeningOn: address)
          defer { announcer.child.kill() }
          try await announcer.child.says("\"event\":\"announced\"", times: 2)
          let records = try await network.browse("_rtsp._tcp") { $0.map(\.address) == [address] }
          #expect(records.map(\.interface) == [interface])
          _ = try await announcer.end()
        }
      }
    }

    @Test func `a daemon that is missing, or ends, is reported once, and used as soon as it is there`() async throws {
      try await MDNSNetwork.with { network in
        let announcer = try AnnouncerProcess(in: network)
        defer { announcer.child.kill() }
        try await announcer.child.complains(Self.missing)
        let daemon = try await network.startDaemon()
        defer { daemon.kill() }
        try await announcer.child.says("\"event\":\"announced\"", times: 2, within: .seconds(40))

        daemon.signal(SIGTERM)
        _ = try #require(await daemon.end(within: MachineShare.timeout(.seconds(20))))
        try await announcer.child.complains(Self.missing, times: 2)
        #expect(announcer.child.isRunning)
        let next = try await network.startDaemon()
        defer { next.kill() }
        try await announcer.child.says("\"event\":\"announced\"", times: 4, within: .seconds(40))
        let records = try await network.browse("_http._tcp") { $0.count == 2 }
        #expect(Set(records.map(\.name)) == [AnnouncerProcess.name(of: "hello")])
        #expect(announcer.child.errors.text.components(separatedBy: Self.missing).count == 3)
        #expect(try await announcer.end() == .status(0))
      }
    }

    @Test func `without a daemon the exit is as fast`() async throws {
      try await MDNSNetwork.with { network in
        let announcer = try AnnouncerProcess(in: network)
        defer { announcer.child.kill() }
        try await announcer.child.complains(Self.missing)
        let start = ContinuousClock.now
        #expect(try await announcer.end() == .status(0))
        #expect(ContinuousClock.now - start < .seconds(2))
      }
    }
  }
}
