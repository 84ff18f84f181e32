public import Media
public import Serving

/// The served streams of a server of RTMP.
package typealias RTMPDirectory = OutputDirectory<ConnectionOutput<RTMPStreamPacketizer>>

/// An RTMP server for any number of streams and viewers: `rtmp://HOST/NAME`, `rtmp://HOST/live/NAME`.
///
/// Each viewer is one connection on an event loop. Samples are serialized once for all viewers on the stream's threads, and
/// cost one write per viewer.
///
/// `CameraServer` has one, which it calls from any task; connections look for streams on their event loops:
///
/// ```swift
/// let server = RTMPServer(settings, environment)
/// try await server.start(certificate: certificate)
/// server.serve(stream)      // rtmp://HOST/NAME
/// ```
package final class RTMPServer: TCPStreamServer {
  package static let protocolName = "rtmp"

  package let tcp: TCPServer
  package let outputs: RTMPDirectory

  /// A server that listens after ``start(certificate:)``.
  package init(_ settings: RTMPServerSettings, _ environment: ServerEnvironment) {
    self.outputs = RTMPDirectory(eventLoops: environment.eventLoops, refusals: environment.registry.refusals)
    self.tcp = TCPServer(
      .init(
        name: "RTMP", address: settings.address, port: settings.port, alternativePorts: settings.alternativePorts,
        tls: settings.tls, unprivilegedPort: 1935, viewerLimits: .init(stallTimeout: settings.stallTimeout)),
      environment, connections: self.outputs.connections)
  }

  /// Opens the ports; without effect when they are open.
  ///
  /// - Parameter certificate: That of TLS where the settings name none.
  /// - Throws: `VidiconError`, as ``TCPServer/start(certificate:_:)`` does.
  package func start(certificate: TLSCertificate? = nil) async throws(VidiconError) {
    try await self.tcp.start(certificate: certificate) { [outputs] in RTMPConnectionHandler(outputs, $0) }
  }
}

/// Ports, TLS and timeouts of an `RTMPServer`.
public struct RTMPServerSettings: Hashable, Sendable {
  /// The TCP port, 0 to 65,535; 0 for any free one; nil for RTMP over TLS only.
  public var port: Int?
  /// Ports in place of one that is in use, in the order in which they are tried, 0 for any free one; without them, the default, a
  /// server whose port is in use does not start.
  public var alternativePorts: [Int] = []
  /// The numeric address to listen on; nil for all IPv4 and IPv6 addresses of this machine.
  public var address: String?
  /// RTMP over TLS; nil for none.
  public var tls: TLSSettings?
  /// Time without progress after which a viewer that is too slow is closed; 10 s by default.
  public var stallTimeout = MediaDuration.seconds(10)

  /// Creates settings of a TCP port, without TLS.
  public init(port: Int? = 1935) {
    self.port = port
  }
}
