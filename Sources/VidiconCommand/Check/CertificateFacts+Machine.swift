import Authentication
import Discovery
import HTTPServer
import Media
import Serving
import Threading

extension CertificateFacts {
  /// Reads the certificate files of a configuration, or the authority of this user; makes none.
  ///
  /// - Parameter folder: Folder of relative paths, for commands that are typed in another one; nil where they are typed in this one.
  init(_ configuration: ServeConfiguration, in folder: String? = nil) {
    self.init(origin: Self.origin(configuration, in: folder), now: WallClock.system.now() / 1_000_000_000)
    self.hosts = configuration.access.hosts
    self.machineNames = NetworkAddresses.hostNames
  }

  private static func origin(_ configuration: ServeConfiguration, in folder: String?) -> Origin {
    let isUsed =
      configuration.openHTTPSPort != nil || configuration.rtspsPort != nil || configuration.rtmpsPort != nil
    guard isUsed else { return .none }
    if let chain = configuration.tlsCertificate, let key = configuration.tlsKey {
      return .files(
        folder.map { ServiceFolder.resolved(chain, in: $0) } ?? chain,
        Result { () throws(VidiconError) in try CertificateSummary(CertificateFiles(chain: chain, key: key)) })
    }
    return .authority(Result { () throws(VidiconError) in try CertificateSummary.ofLocalAuthority() })
  }
}
