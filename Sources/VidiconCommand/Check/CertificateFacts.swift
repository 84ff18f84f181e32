import Authentication
import HTTPServer
import Media

/// Facts about the certificate of the ports with TLS.
struct CertificateFacts: Sendable {
  /// Origin of the certificate.
  enum Origin: Sendable {
    /// No port has TLS.
    case none
    /// Files of the owner, with the path of the chain.
    case files(String, Result<CertificateSummary, VidiconError>)
    /// The authority of this machine; nil before the first start.
    case authority(Result<CertificateSummary?, VidiconError>)
  }

  var origin: Origin
  /// Time of day, in seconds since 1970-01-01 00:00 UTC.
  var now: Int64
  /// Host names under which requests are answered, beside those that only a local network gives.
  var hosts: [String] = []
  /// Names of this machine, under which requests are answered too.
  var machineNames: [String] = []

  /// Remaining validity in seconds below which a renewal seems to have failed: services renew at a third of the validity, 30 days of 90,
  /// and certificates of a week are renewed within days.
  private static func renewal(of certificate: CertificateSummary) -> Int64 {
    min(14 * 86_400, (certificate.notAfter - certificate.notBefore) / 4)
  }

  /// One finding, or one for each thing that is wrong.
  var findings: [CheckFinding] {
    let subject = "certificate"
    switch self.origin {
    case .none: return [.ok(subject, "no port has TLS")]
    case .files(_, .failure(let error)), .authority(.failure(let error)): return [CheckFinding(error)]
    case .authority(.success(.none)):
      return [.ok(subject, "an authority of this machine is made at the first start, which phones can trust: /ca")]
    case .authority(.success(.some(let authority))):
      let days = (authority.notAfter - self.now) / 86_400
      return [.ok(subject, "issued by the authority of this machine, which is valid for \(days) days")]
    case .files(let chain, .success(let certificate)):
      let path = chain.pathWithoutCredentials()
      if let finding = self.validity(of: certificate, path: path) { return [finding] }
      let refused = self.refusedHosts(of: certificate).map { host in
        CheckFinding.warning(
          subject, "\(path) is for \(host), and requests for that name are refused",
          .advice("add --host \(host), or the key hosts"))
      }
      let missing = self.hosts.filter { !certificate.covers($0) && $0.contains(".") }.map { host in
        CheckFinding.warning(
          subject, "\(path) is not for \(host), of which browsers then warn",
          .advice("get a certificate for \(host) too, or leave --host \(host) out"))
      }
      let names = (certificate.hosts + certificate.addresses).joined(separator: ", ")
      let days = (certificate.notAfter - self.now) / 86_400
      let wrong = refused + missing
      return wrong.isEmpty ? [.ok(subject, "\(path) is for \(names), and valid for \(days) days")] : wrong
    }
  }

  private func validity(of certificate: CertificateSummary, path: String) -> CheckFinding? {
    let subject = "certificate"
    let command = CheckFinding.Remedy.command("openssl x509 -noout -dates -in \(path.shellWord)")
    if certificate.notBefore > self.now {
      return .fault(subject, "\(path) is not valid yet, or the clock of this machine is slow", .command("timedatectl"))
    }
    if certificate.notAfter <= self.now {
      return .fault(subject, "\(path) has expired, so that browsers and players refuse it", command)
    }
    let rest = certificate.notAfter - self.now
    guard rest < Self.renewal(of: certificate) else { return nil }
    return .warning(subject, "\(path) expires in \(rest / 86_400) days; its renewal may have failed", command)
  }

  /// Names of the certificate for which requests are refused, wildcards excepted.
  private func refusedHosts(of certificate: CertificateSummary) -> [String] {
    let policy = HostPolicy(names: self.hosts + self.machineNames)
    return certificate.hosts.filter { host in Authority(parsing: host).map { !policy.allows($0) } ?? false }
  }
}
