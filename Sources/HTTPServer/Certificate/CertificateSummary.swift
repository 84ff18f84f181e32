internal import Authentication
internal import Cryptography
package import Media
internal import NIOSSL
package import Serving

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// Dates and names of a certificate, for a check by the owner.
package struct CertificateSummary: Hashable, Sendable {
  /// Start of the validity, in seconds since 1970-01-01 00:00 UTC.
  package var notBefore: Int64
  /// End of the validity, in seconds since 1970-01-01 00:00 UTC.
  package var notAfter: Int64
  /// Host names of the certificate, wildcards among them.
  package var hosts: [String]
  /// Numeric addresses of the certificate.
  package var addresses: [String]

  /// Creates a summary; times are in seconds since 1970.
  package init(notBefore: Int64, notAfter: Int64, hosts: [String] = [], addresses: [String] = []) {
    self.notBefore = notBefore
    self.notAfter = notAfter
    self.hosts = hosts
    self.addresses = addresses
  }

  /// Reads the first certificate of a chain, and checks that it belongs to its key.
  ///
  /// - Throws: A `VidiconError` whose subject is the file that cannot be used.
  package init(_ files: CertificateFiles) throws(VidiconError) {
    let tls = try TLSCertificate(files)
    guard let bytes = try? tls.certificate.toDERBytes(), let certificate = Certificate(der: bytes) else {
      throw VidiconError(
        .invalidData, path: files.chain, cause: "its certificate cannot be read",
        nextStep: "give a PEM file with the certificate chain")
    }
    self.init(certificate)
  }

  /// Reads the certificate of a server; nil where it cannot be read.
  package init?(derEncoded bytes: [UInt8]) {
    guard let certificate = Certificate(der: bytes) else { return nil }
    self.init(certificate)
  }

  /// Whether the certificate is for a host, a name or a numeric address, RFC 9525 §6.3.
  package func covers(_ host: String) -> Bool {
    if let address = IPAddress(parsing: host) {
      return self.addresses.contains { IPAddress(parsing: $0) == address }
    }
    let host = host.lowercased()
    let parent = host.drop { $0 != "." }
    return self.hosts.map { $0.lowercased() }.contains { name in
      name == host || name.hasPrefix("*.") && name.dropFirst() == parent
    }
  }

  private init(_ certificate: Certificate) {
    var (hosts, addresses): ([String], [String]) = ([], [])
    for name in certificate.alternativeNames ?? [] {
      switch name {
      case .dns(let host): hosts.append(host)
      case .address(let address): addresses += Self.text(ofAddress: address).map { [$0] } ?? []
      }
    }
    self.init(
      notBefore: certificate.notBefore, notAfter: certificate.notAfter, hosts: hosts, addresses: addresses)
  }

  /// The authority of this user that issues certificates where no files are given; nil before the first start.
  ///
  /// - Throws: A `VidiconError` for a file that the start refuses, as one that other users can read.
  package static func ofLocalAuthority() throws(VidiconError) -> CertificateSummary? {
    let authority = try CertificateFolder(nil).storedAuthority(now: Date())
    return authority.map { CertificateSummary($0.certificate) }
  }

  /// Text of an address in network byte order; nil unless it has 4 or 16 bytes.
  private static func text(ofAddress bytes: [UInt8]) -> String? {
    func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
    switch bytes.count {
    case 4: return IPAddress.v4(UInt32(truncatingIfNeeded: number(bytes[...]))).description
    case 16: return IPAddress.v6(number(bytes[..<8]), number(bytes[8...])).description
    default: return nil
    }
  }
}
