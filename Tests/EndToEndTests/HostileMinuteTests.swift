import Foundation
import Testing

extension EndToEnd {
  @Suite("A hostile minute")
  struct HostileMinute {
    /// Duration of the attack in seconds; docs/security.md has figures of 60 s.
    private static let seconds =
      ProcessInfo.processInfo.environment["VIDICON_HOSTILE_SECONDS"].flatMap { Int($0) } ?? 25

    /// Token of the viewers.
    private static let token = "viewer-0123456789abcdef"

    /// Tolerance of the resident memory after the attack in bytes, against that before it: the tables of connections keep
    /// their size, and the allocator whatever shares a page with memory in use. The attack takes 200 MB and more.
    private static let tolerance = 32 << 20

    /// One attack of hostile.py: counts by kind and status.
    private typealias Attacks = [String: [String: Int]]

    /// Resources of the process.
    private struct Use: CustomStringConvertible {
      var memory: Int
      var files: Int
      var connections: Int

      var description: String {
        "\(self.memory >> 20) MiB, \(self.files) files, \(self.connections) connections"
      }

      init(of vidicon: VidiconProcess, _ hosts: TwoHosts) async throws {
        self.memory = try vidicon.residentMemory()
        self.files = try FileManager.default.contentsOfDirectory(
          atPath: "/proc/\(vidicon.child.processIdentifier)/fd"
        ).count
        let counted = try await hosts.run(
          "stranger.py", ["connections", HostileMinute.token], of: vidicon, on: .owner, as: [String: Int].self)
        self.connections = try #require(counted["connections"])
      }
    }

    @Test(.tags(.timing))
    func `twenty viewers lose no frame in an attack on every protocol, and memory is returned after it`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let users = "\(folder)/users"
        try "token=\(Self.token)\noperator ben:secret\n".write(
          toFile: users, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: users)
        let certificate = try await Tool.run(
          "openssl",
          ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
            + ["-subj", "/CN=localhost", "-keyout", "\(folder)/key.pem", "-out", "\(folder)/cert.pem"],
          within: .seconds(20))
        try #require(certificate.succeeded, "\(certificate.errors)")
        let options = [
          "--source", "bars", "--audio", "none", "--size", "320x180", "--fps", "30", "--rtsp-udp", "--user-file", users,
          "--rtsps-port", "0", "--rtmp-port", "0", "--tls-cert", "\(folder)/cert.pem", "--tls-key", "\(folder)/key.pem",
        ]
        try await TwoHosts.with { hosts in try await hosts.serving(options) { try await Self.attack($0, hosts) } }
      }
    }

    private static func attack(_ vidicon: VidiconProcess, _ hosts: TwoHosts) async throws {
      let watching = Task {
        try await hosts.run(
          "ordinary_viewers.py", ["\(Self.seconds + 20)", Self.token], of: vidicon, on: .owner,
          as: OrdinaryViewers.self, within: .seconds(Self.seconds + 60))
      }
      // All viewers play; those of HLS have one address, and count as one.
      _ = try await vidicon.status(within: .seconds(60)) { $0.viewers ?? 0 >= 17 }
      let before = try await Use(of: vidicon, hosts)
      let attacks = try await hosts.run(
        "hostile.py",
        ["\(try #require(vidicon.started.rtspsPort))", "\(try #require(vidicon.started.rtmpPort))", "\(Self.seconds)"],
        of: vidicon, on: .stranger, as: Attacks.self, within: .seconds(Self.seconds + 60))
      var after = try await Use(of: vidicon, hosts)
      // Status events are one second apart; memory is returned twice, ten seconds apart.
      for _ in 0..<30
      where after.connections > before.connections || after.files > before.files
        || after.memory > before.memory + Self.tolerance
      {
        _ = try await vidicon.statusEvent { _ in true }
        after = try await Use(of: vidicon, hosts)
      }
      let refusals = try await vidicon.statusEvent { _ in true }.refusals ?? [:]
      let peak = try vidicon.residentMemory(isPeak: true) >> 20
      print(
        "hostile: \(before) before, at most \(peak) MiB, \(after) after; \(attacks); \(refusals)"
      )
      #expect(after.connections <= before.connections && after.files <= before.files, "\(before), then \(after)")
      #expect(after.memory <= before.memory + Self.tolerance, "\(before), then \(after)")

      // The attacks took place.
      #expect(attacks["crowd"]?["sent"] ?? 0 >= 10_000, "\(attacks)")
      #expect(attacks["logins"]?["sent"] ?? 0 >= 800 * Self.seconds, "\(attacks)")
      for attack in [
        "slow_http", "slow_https", "slow_http2", "slow_rtsp", "slow_rtsps", "slow_rtmp", "uploads", "streams",
        "streams_http2", "codes", "messages", "noise",
      ] {
        #expect(attacks[attack]?["sent"] ?? 0 > 0, "\(attack): \(attacks)")
      }
      for reason in ["failed_login", "throttled", "tls_failure"] { #expect(refusals[reason] ?? 0 > 0, "\(reason)") }

      let watched = try await watching.value
      #expect(watched.packetsLost == 0 && watched.closed == 0, "\(watched)")
      // Frames that the source itself draws too late on a busy machine are none that a viewer loses.
      report("minimum frame rate", watched.frameRates.min() ?? 0, limit: -28)
      #expect(watched.frameRates.allSatisfy { $0 > 28 }, "\(watched.frameRates)")
      #expect(watched.frameRates.count == 16 && watched.hls.count == 4, "\(watched)")
      #expect(watched.hls.allSatisfy { $0.missed == 0 && $0.failures == 0 && $0.segments > 0 }, "\(watched.hls)")
    }
  }
}
