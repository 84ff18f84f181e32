import Foundation
import Testing

extension Smoke {
  @Suite("Smoke: other hosts, and discovery")
  struct Network {
    @Test func `a stranger watches and changes nothing, over HTTP/1.1, HTTP/2 and RTSP`() async throws {
      typealias Stranger = EndToEnd.Stranger
      try await TwoHosts.with { hosts in
        try await Stranger.serving(hosts) { vidicon in
          let before = try await hosts.run(
            "stranger.py", ["state"], of: vidicon, on: .stranger, as: Stranger.State.self)
          var expected = Stranger.common
          for change in Stranger.changes { expected["change: \(change)"] = [401] }
          expected["change as if local"] = [401]
          expected["dangerous source"] = [401]
          let seen = try await hosts.run("stranger.py", ["rows"], of: vidicon, on: .stranger, as: Stranger.Rows.self)
          #expect(seen == expected)
          let after = try await hosts.run("stranger.py", ["state"], of: vidicon, on: .stranger, as: Stranger.State.self)
          #expect(before == Stranger.State(mute: false, mirror: false, video: "bars") && after == before)
          // The same requests with the token; the mask is no image, and the recording has begun already.
          for change in ["settings", "source", "effects", "recordings"] {
            expected["change: \(change)"] = [200]
          }
          (expected["change: mask"], expected["change: recording"]) = ([400], [409])
          expected["change: a recording"] = [206]
          expected["change as if local"] = [200, 206, 400, 409]
          expected["dangerous source"] = [403]
          let owned = try await hosts.run(
            "stranger.py", ["rows", Stranger.token], of: vidicon, on: .owner, as: Stranger.Rows.self)
          #expect(owned == expected)
          let status = try await vidicon.statusEvent { _ in true }
          // Every request over HTTP/2 has ended without a notice, which is no failure of the handshake.
          #expect(status.refusals?["tls_failure"] == 0)
          for reason in ["bad_host", "bad_origin", "forbidden"] {
            #expect(status.refusals?[reason] ?? 0 > 0, "\(reason)")
          }
        }
      }
    }

    @Test func `a stream is found as web page and as RTSP, with path and port, and is gone after the exit`()
      async throws
    {
      try await MDNSNetwork.with { network in
        let daemon = try await network.startDaemon()
        defer { daemon.kill() }
        let announcer = try AnnouncerProcess(in: network, stream: "front/door")
        defer { announcer.child.kill() }
        try await announcer.child.says("\"event\":\"announced\"", times: 2)
        for (type, port) in [("_http._tcp", 8080), ("_rtsp._tcp", 8554)] {
          let records = try await network.browse(type) { $0.count == 2 }
          let expected = [("lo", "127.0.0.1"), ("veth0", "10.200.0.1")].map { interface, address in
            MDNSNetwork.Record(
              interface: interface, name: AnnouncerProcess.name(of: "front/door"), address: address, port: port,
              text: "\"path=/front/door\"")
          }
          #expect(Set(records) == Set(expected))
        }
        #expect(try await announcer.end() == .status(0))
        #expect(announcer.child.output.text.hasSuffix("{\"event\":\"stopped\"}\n"))
        #expect(announcer.child.errors.text == "")
        for type in ["_http._tcp", "_rtsp._tcp"] {
          #expect(try await network.browse(type) { $0.isEmpty } == [])
        }
      }
    }
  }
}
