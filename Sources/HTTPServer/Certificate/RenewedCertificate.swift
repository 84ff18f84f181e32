internal import Media
internal import NIOCore
internal import NIOPosix
internal import NIOSSL
internal import Serving
internal import SwiftASN1
internal import Synchronization
internal import Threading
internal import X509

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// The certificate of the local authority that new connections get.
///
/// A connection checks the machine's addresses and the time, on a thread of its own, when the check before is two seconds old,
/// and waits for the certificate that results. Connections meanwhile get the certificate before.
final class RenewedCertificate: Sendable {
  /// Time between two checks.
  static let checkInterval = MediaDuration.seconds(2)

  private struct State {
    var served: Served
    var nextCheck: MediaTime
  }

  /// A certificate with what connections need of it.
  private struct Served {
    var issued: IssuedCertificate
    var chain: [NIOSSLCertificate]
    var key: NIOSSLPrivateKey
    var fingerprint: String
  }

  let authority: LocalAuthority
  private let folder: CertificateFolder
  private let makeNames: @Sendable () -> CertificateNames
  private let report: @Sendable (String) -> Void
  private let state: Mutex<State>

  /// Reads or generates the authority, and a certificate for the machine as it is now.
  ///
  /// - Parameters:
  ///   - makeNames: The machine's names and addresses at the time of the call.
  ///   - report: Receives a line for each certificate that cannot be stored.
  init(
    folder: CertificateFolder, makeNames: @escaping @Sendable () -> CertificateNames = CertificateNames.ofMachine,
    report: @escaping @Sendable (String) -> Void, at date: Date = Date(), now: MediaTime = StreamClock.system.now()
  ) throws(VidiconError) {
    let names = makeNames()
    let authority = try folder.authority(for: names, now: date)
    let issued = try folder.certificate(of: authority, for: names, now: date) { report("\($0)") }
    self.authority = authority
    self.folder = folder
    self.makeNames = makeNames
    self.report = report
    self.state = Mutex(State(served: try Self.served(issued), nextCheck: now + Self.checkInterval))
  }

  /// SHA-256 of the current certificate: pairs of upper-case hexadecimal digits separated by colons.
  var fingerprint: String { self.state.withLock { $0.served.fingerprint } }

  /// TLS whose connections get the current certificate.
  func tls() throws(VidiconError) -> TLSCertificate {
    let (chain, key) = self.state.withLock { ($0.served.chain, $0.served.key) }
    return try TLSCertificate(chain: chain, key: key) { _, promise in
      guard self.beginsCheck(now: StreamClock.system.now()) else { return promise.succeed(self.configuration) }
      NIOThreadPool.singleton.submit { _ in
        self.check(at: Date())
        promise.succeed(self.configuration)
      }
    }
  }

  /// Whether a check is due; if so, the next one is due after ``checkInterval``.
  func beginsCheck(now: MediaTime) -> Bool {
    self.state.withLock { state in
      guard now >= state.nextCheck else { return false }
      state.nextCheck = now + Self.checkInterval
      return true
    }
  }

  /// Replaces the certificate where the machine's addresses or the time require it; blocks for some milliseconds.
  func check(at date: Date) {
    let names = self.makeNames()
    let issued = self.state.withLock { $0.served.issued }
    guard issued.renewalReason(authority: self.authority, names: names, now: date) != nil else { return }
    do throws(VidiconError) {
      let renewed = try self.folder.certificate(of: self.authority, for: names, now: date) { self.report("\($0)") }
      let served = try Self.served(renewed)
      self.state.withLock { $0.served = served }
    } catch {
      self.report("\(error)")
    }
  }

  private var configuration: NIOSSLContextConfigurationOverride {
    var configuration = NIOSSLContextConfigurationOverride()
    let (chain, key) = self.state.withLock { ($0.served.chain, $0.served.key) }
    configuration.certificateChain = chain.map { .certificate($0) }
    configuration.privateKey = .privateKey(key)
    return configuration
  }

  private static func served(_ issued: IssuedCertificate) throws(VidiconError) -> Served {
    do {
      var serializer = DER.Serializer()
      try serializer.serialize(issued.certificate)
      let bytes = serializer.serializedBytes
      let key = try issued.key.serializeAsPEM().pemString
      return Served(
        issued: issued, chain: [try NIOSSLCertificate(bytes: bytes, format: .der)],
        key: try NIOSSLPrivateKey(bytes: Array(key.utf8), format: .pem),
        fingerprint: ServerCertificate.fingerprint(of: bytes))
    } catch {
      throw VidiconError(
        .failed, subject: "the certificate", cause: "cannot be used for TLS (\(error))",
        nextStep: "give a certificate and its key")
    }
  }
}
