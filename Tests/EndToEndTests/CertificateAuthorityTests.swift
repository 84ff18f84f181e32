import Foundation
import Testing

extension EndToEnd {
  @Suite("Certificate authority of HTTPS")
  struct CertificateAuthority {
    private static let source = ["--source", "plasma", "--size", "320x180", "--audio", "none"]

    /// Runs openssl; its standard output and errors.
    private static func openssl(_ arguments: String...) async throws -> (isSuccess: Bool, text: String) {
      let run = try await Tool.run("openssl", arguments, within: .seconds(10))
      return (run.succeeded, run.outputText + run.errors)
    }

    /// Fetches a path with the authority as the only one that curl trusts.
    private static func trusting(_ file: String, _ url: String, _ options: [String] = []) async throws -> Tool.Run {
      try await Tool.run(
        "curl", ["--silent", "--show-error", "--noproxy", "*", "--cacert", file] + options + [url], within: .seconds(10)
      )
    }

    @Test func `openssl and curl trust this server by the authority at /ca, with all its names`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let options = Self.source + ["--https-port", "0", "--user", "anna:sesame"]
        try await VidiconProcess.serving(options, environment: ["XDG_STATE_HOME": folder]) { vidicon in
          let plain = try await Curl.get(vidicon.page("/ca"))
          let secure = try await Curl.get(vidicon.securePage("/ca"))
          #expect(plain.status == 200 && plain["content-type"] == "application/x-x509-ca-cert")
          #expect(secure.status == 200 && secure.body == plain.body)
          let page = try await Curl.get(vidicon.page("/ca"), ["--header", "Accept: text/html"])
          #expect(page.status == 200 && page.text.hasPrefix("<!doctype html>"))
          let authority = "\(folder)/ca.pem"
          try Data(plain.body).write(to: URL(fileURLWithPath: authority))

          let shown = try await Self.openssl("x509", "-in", authority, "-noout", "-text", "-fingerprint", "-sha256")
          let lines = shown.text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
          for expected in [
            "X509v3 Basic Constraints: critical", "CA:TRUE, pathlen:0", "X509v3 Key Usage: critical",
            "Certificate Sign", "TLS Web Server Authentication", "X509v3 Name Constraints: critical", "DNS:local",
            "IP:10.0.0.0/255.0.0.0", "IP:192.168.0.0/255.255.0.0",
          ] {
            #expect(lines.contains(expected), "\(expected): \(shown.text)")
          }
          let fingerprint = try #require(vidicon.started.authorityFingerprint)
          #expect(shown.text.contains("Fingerprint=\(fingerprint)"))
          let binary = try await Curl.get(vidicon.page("/ca?form=der"))
          try Data(binary.body).write(to: URL(fileURLWithPath: "\(folder)/ca.der"))
          let read = try await Self.openssl(
            "x509", "-inform", "DER", "-in", "\(folder)/ca.der", "-noout", "-fingerprint", "-sha256")
          #expect(read.text.contains(fingerprint))

          let port = try #require(vidicon.started.httpsPort)
          let session = try await Self.openssl(
            "s_client", "-connect", "127.0.0.1:\(port)", "-CAfile", authority, "-verify_ip", "127.0.0.1")
          #expect(session.text.contains("Verify return code: 0 (ok)"), "\(session.text)")
          try session.text.write(toFile: "\(folder)/session", atomically: true, encoding: .utf8)
          let leaf = try await Self.openssl("x509", "-in", "\(folder)/session", "-noout", "-ext", "subjectAltName")
          let local = try #require(leaf.text.firstMatch(of: /DNS:([a-z0-9-]+\.local)/)?.output.1, "\(leaf.text)")
          let resolved = ["--resolve", "\(local):\(port):127.0.0.1"]
          for host in ["127.0.0.1", "localhost", String(local)] {
            let run = try await Self.trusting(authority, "https://\(host):\(port)/health", resolved)
            #expect(run.outputText == "ok\n", "\(host): \(run.errors)")
          }
          let other = try await Self.trusting(
            authority, "https://other.local:\(port)/health", ["--resolve", "other.local:\(port):127.0.0.1"])
          #expect(other.exit == .status(60), "\(other.errors)")
        }
      }
    }

    @Test func `openssl accepts no certificate of the authority's own key for names and addresses of the Internet`()
      async throws
    {
      try await TestMedia.withTemporaryFolder { folder in
        let options = Self.source + ["--https-port", "0"]
        let authority = "\(folder)/ca.pem"
        try await VidiconProcess.serving(options, environment: ["XDG_STATE_HOME": folder]) { vidicon in
          let offered = try await Curl.get(vidicon.page("/ca"))
          try Data(offered.body).write(to: URL(fileURLWithPath: authority))
        }
        let kept = "\(folder)/vidicon/authority-key.pem"
        let attributes = try FileManager.default.attributesOfItem(atPath: kept)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        let request = "\(folder)/request.pem"
        let made = try await Self.openssl(
          "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=forged",
          "-keyout", "\(folder)/key.pem", "-out", request)
        try #require(made.isSuccess, "\(made.text)")
        for (name, isAccepted) in [
          ("DNS:a.local", true), ("IP:10.1.2.3", true), ("IP:fd00::1", true), ("DNS:example.com", false),
          ("DNS:local.example.com", false), ("IP:8.8.8.8", false), ("IP:2001:db8::1", false),
          ("DNS:a.local,DNS:example.com", false),
        ] {
          try "subjectAltName=\(name)\n".write(toFile: "\(folder)/names", atomically: true, encoding: .utf8)
          let signed = try await Self.openssl(
            "x509", "-req", "-in", request, "-CA", kept, "-CAkey", kept, "-set_serial", "1", "-days", "30",
            "-extfile", "\(folder)/names", "-out", "\(folder)/forged.pem")
          try #require(signed.isSuccess, "\(signed.text)")
          let verified = try await Self.openssl(
            "verify", "-CAfile", authority, "-purpose", "sslserver", "\(folder)/forged.pem")
          #expect(verified.isSuccess == isAccepted, "\(name): \(verified.text)")
          if !isAccepted { #expect(verified.text.contains("permitted subtree violation"), "\(verified.text)") }
        }
      }
    }

    @Test func `a new address of the machine is in the certificate of the next connections`() async throws {
      try await TwoHosts.with { hosts in
        try await hosts.serving(Self.source) { vidicon in
          let port = try #require(vidicon.started.httpsPort)
          let curl = ["--silent", "--show-error", "--noproxy", "*"]
          func run(_ program: String, _ arguments: [String]) async throws -> ChildProcess.Exit? {
            let child = try hosts.start(program, arguments)
            return await child.end(within: MachineShare.timeout(.seconds(30)))
          }
          try await TestMedia.withTemporaryFolder { folder in
            let authority = ["--output", "\(folder)/ca.pem", "http://10.77.1.1:\(vidicon.httpPort)/ca"]
            try #require(await run("curl", curl + authority) == .status(0))
            func get(_ host: String, _ options: [String] = []) async throws -> ChildProcess.Exit? {
              try await run(
                "curl", curl + options + ["--cacert", "\(folder)/ca.pem", "https://\(host):\(port)/health"])
            }
            #expect(try await get("10.77.1.1") == .status(0))
            #expect(try await run("ip", ["address", "add", "10.77.3.1/24", "dev", "home"]) == .status(0))
            // curl tries again after a certificate without the name of the host, too.
            let patient = ["--retry", "20", "--retry-delay", "1", "--retry-all-errors"]
            #expect(try await get("10.77.3.1", patient) == .status(0))
            #expect(try await get("10.77.1.1") == .status(0))
          }
        }
      }
    }

    @Test(arguments: ["", "-----BEGIN CERTIFICATE-----\n"])
    func `an authority that is damaged ends the program with one line, and stays as it is`(text: String) async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let path = "\(folder)/vidicon/authority-key.pem"
        try FileManager.default.createDirectory(atPath: "\(folder)/vidicon", withIntermediateDirectories: true)
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        let run = try await VidiconProcess.run(
          ["serve", "--https-port", "0", "--source", "plasma"] + VidiconProcess.freePorts,
          environment: ["XDG_STATE_HOME": folder])
        #expect(run.exit == .status(1))
        let lines = run.errors.split(separator: "\n")
        #expect(lines.count == 1 && lines.first?.contains(path) == true, "\(run.errors)")
        #expect(try String(contentsOfFile: path, encoding: .utf8) == text)
      }
    }
  }
}
