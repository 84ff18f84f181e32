package import Media
internal import NIOCore
internal import NIOPosix
package import NIOSSL
internal import Synchronization
internal import Threading

/// A certificate chain with the private key of its first certificate.
package struct CertifiedKey: Sendable {
  /// The certificate of the server first, at least one.
  package let chain: [NIOSSLCertificate]
  /// The private key that belongs to the first certificate.
  package let key: NIOSSLPrivateKey

  /// Creates a pair, which is not checked.
  package init(chain: [NIOSSLCertificate], key: NIOSSLPrivateKey) {
    self.chain = chain
    self.key = key
  }
}

/// The certificate that new connections get, which may be replaced while a server runs.
///
/// A connection has it checked, on a thread of its own, when the check before is two seconds old, and waits for the certificate that
/// results. Connections meanwhile get the certificate before.
package final class CurrentCertificate: Sendable {
  /// Time between two checks.
  static let checkInterval = MediaDuration.seconds(2)

  private struct State {
    var pair: CertifiedKey
    var isFirst = true
    var nextCheck: MediaTime
  }

  private let state: Mutex<State>
  private let check: @Sendable () -> CertifiedKey?

  /// - Parameters:
  ///   - now: The time of the check that has found the first certificate.
  ///   - check: Returns a certificate that replaces the current one, nil where that stays; blocks for some milliseconds.
  package init(
    _ first: CertifiedKey, now: MediaTime = StreamClock.system.now(), check: @escaping @Sendable () -> CertifiedKey?
  ) {
    self.state = Mutex(State(pair: first, nextCheck: now + Self.checkInterval))
    self.check = check
  }

  /// The certificate of new connections.
  package var pair: CertifiedKey { self.state.withLock { $0.pair } }

  /// Has the certificate of a connection checked, where that is due.
  ///
  /// - Parameter promise: Gets what differs from the first certificate, on any thread.
  func choose(for promise: EventLoopPromise<NIOSSLContextConfigurationOverride>) {
    guard self.beginsCheck(now: StreamClock.system.now()) else { return promise.succeed(self.override) }
    NIOThreadPool.singleton.submit { _ in
      self.replace()
      promise.succeed(self.override)
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

  /// Checks the certificate, and replaces it where it has changed; blocks for some milliseconds.
  package func replace() {
    guard let pair = self.check() else { return }
    self.state.withLock { ($0.pair, $0.isFirst) = (pair, false) }
  }

  private var override: NIOSSLContextConfigurationOverride {
    let (pair, isFirst) = self.state.withLock { ($0.pair, $0.isFirst) }
    guard !isFirst else { return .noChanges }
    var configuration = NIOSSLContextConfigurationOverride()
    configuration.certificateChain = pair.chain.map { .certificate($0) }
    configuration.privateKey = .privateKey(pair.key)
    return configuration
  }
}
