internal import Cryptography
internal import Media
internal import NIOCore
internal import NIOPosix
internal import NIOSSL
internal import Serving
internal import Synchronization
internal import Threading

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// The certificate of the local authority that new connections get: another one where the machine's addresses or the time require it.
final class RenewedCertificate: Sendable {
  let authority: LocalAuthority
  private let folder: CertificateFolder
  private let makeNames: @Sendable () -> CertificateNames
  private let report: @Sendable (String) -> Void
  private let issued: Mutex<IssuedCertificate>

  /// Reads or generates the authority, and a certificate for the machine as it is now.
  ///
  /// - Parameters:
  ///   - makeNames: The machine's names and addresses at the time of the call.
  ///   - report: Receives a line for each certificate that cannot be stored.
  init(
    folder: CertificateFolder, makeNames: @escaping @Sendable () -> CertificateNames = CertificateNames.ofMachine,
    report: @escaping @Sendable (String) -> Void, at date: Date = Date()
  ) throws(VidiconError) {
    let names = makeNames()
    let authority = try folder.authority(for: names, now: date)
    let issued = try folder.certificate(of: authority, for: names, now: date) { report("\($0)") }
    self.authority = authority
    self.folder = folder
    self.makeNames = makeNames
    self.report = report
    self.issued = Mutex(issued)
  }

  /// TLS whose connections get the current certificate.
  ///
  /// - Parameter now: The time from which on the next check is counted.
  func tls(now: MediaTime = StreamClock.system.now()) throws(VidiconError) -> TLSCertificate {
    let first = try Self.certifiedKey(self.issued.withLock { $0 })
    return try TLSCertificate(CurrentCertificate(first, now: now) { self.renewed(at: Date()) })
  }

  /// A certificate in place of the current one where the machine's addresses or the time require it; blocks for some milliseconds.
  func renewed(at date: Date) -> CertifiedKey? {
    let names = self.makeNames()
    let issued = self.issued.withLock { $0 }
    guard issued.renewalReason(authority: self.authority, names: names, now: date) != nil else { return nil }
    do throws(VidiconError) {
      let renewed = try self.folder.certificate(of: self.authority, for: names, now: date) { self.report("\($0)") }
      let pair = try Self.certifiedKey(renewed)
      self.issued.withLock { $0 = renewed }
      return pair
    } catch {
      self.report("\(error)")
      return nil
    }
  }

  private static func certifiedKey(_ issued: IssuedCertificate) throws(VidiconError) -> CertifiedKey {
    do {
      return CertifiedKey(
        chain: [try NIOSSLCertificate(bytes: issued.certificate.der, format: .der)],
        key: try NIOSSLPrivateKey(bytes: Array(issued.key.pem.utf8), format: .pem))
    } catch {
      throw VidiconError(
        .failed, subject: "the certificate", cause: "cannot be used for TLS (\(error))",
        nextStep: "give a certificate and its key")
    }
  }
}
