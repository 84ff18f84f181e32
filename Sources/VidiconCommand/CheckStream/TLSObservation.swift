import Authentication
import HTTPServer
import Media

/// Facts about the TLS of a server.
struct TLSObservation: Equatable, Sendable {
  /// Host of the address.
  var host: String
  /// Time of day, in seconds since 1970-01-01 00:00 UTC.
  var now: Int64
  /// Dates and names of the certificate; nil where it cannot be read.
  var certificate: CertificateSummary?
  /// Whether an authority that this machine trusts has issued it for the host.
  var isTrusted: Bool
  /// Whether the address accepts any certificate, by `insecure=1`.
  var isInsecure = false
  /// Protocol chosen by ALPN, RFC 7301; nil without one.
  var negotiatedProtocol: String?

  /// The command that shows a certificate.
  private func command(port: Int) -> CheckFinding.Remedy {
    let name = IPAddress(parsing: self.host) == nil ? " -servername \(self.host.shellWord)" : ""
    let place = "\(self.host.contains(":") ? "[\(self.host)]" : self.host):\(port)"
    return .command(
      "openssl s_client -connect \(place.shellWord)\(name) </dev/null | openssl x509 -noout -dates -ext subjectAltName")
  }

  /// Finding about the certificate.
  func finding(port: Int, clients: [StreamClient]) -> StreamFinding {
    let subject = "certificate"
    func fault(_ meaning: String, _ remedy: CheckFinding.Remedy) -> StreamFinding {
      guard !self.isInsecure else {
        return StreamFinding(.certificates, .ok(subject, "\(meaning); insecure=1 accepts it"))
      }
      return StreamFinding(.certificates, .fault(subject, meaning, remedy), blocks: Set(clients))
    }
    if let certificate {
      if certificate.notBefore > self.now {
        return fault("it is not valid yet, or the clock of one of the machines is wrong", .command("timedatectl"))
      }
      if certificate.notAfter <= self.now {
        return fault("it has expired, so that browsers and players refuse it", self.command(port: port))
      }
      if !certificate.covers(self.host) {
        let names = (certificate.hosts + certificate.addresses).prefix(4).joined(separator: ", ")
        return fault(
          "it is for \(names.isEmpty ? "no name" : names), not for \(self.host)",
          .advice("use one of its names in the address, or get a certificate for this one"))
      }
    }
    guard self.isTrusted else {
      return fault(
        "no authority that this machine trusts has issued it",
        .advice("install its authority on this machine, or get a certificate that browsers trust"))
    }
    let days = certificate.map { "valid for \(($0.notAfter - self.now) / 86_400) days" } ?? "trusted"
    return StreamFinding(.certificates, .ok(subject, "for \(self.host), \(days)"))
  }
}
