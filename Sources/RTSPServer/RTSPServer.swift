package import Authentication
internal import Libc
public import Media
internal import NIOCore
internal import NIOPosix
internal import RTSP
public import Serving
package import Streaming
internal import Synchronization

/// An RTSP server, RFC 2326, for any number of streams and viewers.
///
/// Each viewer is one connection on an event loop. Samples are packetized once for all viewers on the stream's threads, and
/// cost one write per viewer.
///
/// `CameraServer` has one, which it calls from any task; connections look for streams on their event loops:
///
/// ```swift
/// let server = RTSPServer(settings, environment)
/// try await server.start()
/// server.serve(stream)      // rtsp://HOST:8554/NAME
/// ```
package final class RTSPServer: TCPStreamServer {
  package static let protocolName = "rtsp"

  private let settings: RTSPServerSettings
  private let group: MultiThreadedEventLoopGroup
  private let ownsGroup: Bool
  package let tcp: TCPServer
  let directory: RTSPDirectory
  package var outputs: OutputDirectory<RTPOutput> { self.directory.outputs }
  /// Measures the event loops, which other protocols may share.
  private let lagMeter: LoopLagMeter
  /// Sends reports while the server listens.
  private let reporting = Mutex<RepeatedTask?>(nil)
  private let accessControl: AccessControl

  /// One event loop per core, at most four: the encoders need the other cores.
  private static let eventLoopCount = min(System.coreCount, 4)

  /// A server with event loops of its own, which listens after ``start()``.
  ///
  /// - Parameter access: Users, tokens and rules; nil to let every client watch.
  package convenience init(settings: RTSPServerSettings, access: AccessControl? = nil) {
    let access = access ?? AccessControl(settings: AccessSettings(), makeRandom: { .random(in: 0...UInt64.max) })
    self.init(
      settings,
      ServerEnvironment(
        access: access, passwords: PasswordChecker(access: access),
        group: MultiThreadedEventLoopGroup(numberOfThreads: Self.eventLoopCount),
        registry: ConnectionRegistry(refusals: access.refusals)), ownsGroup: true)
  }

  /// A server that listens after ``start(certificate:)``.
  ///
  /// - Parameter ownsGroup: Whether the event loops are shut down with the server.
  package init(_ settings: RTSPServerSettings, _ environment: ServerEnvironment, ownsGroup: Bool = false) {
    self.settings = settings
    self.accessControl = environment.access
    self.ownsGroup = ownsGroup
    self.group = environment.group
    self.directory = RTSPDirectory(eventLoops: environment.eventLoops, refusals: environment.registry.refusals)
    self.tcp = TCPServer(
      .init(
        name: "RTSP", address: settings.address, port: settings.port, alternativePorts: settings.alternativePorts,
        tls: settings.tls, unprivilegedPort: 8554, viewerLimits: .init(stallTimeout: settings.stallTimeout)),
      environment, connections: self.directory.outputs.connections)
    self.lagMeter = LoopLagMeter(eventLoops: environment.eventLoops)
  }

  /// Number of malformed messages and of packets on unknown channels.
  package var malformedRequests: Int {
    self.directory.malformedRequests.load(ordering: .relaxed)
  }

  /// Counters of a stream's viewers over RTSP, those of its renditions included; all zero when the stream is not served.
  ///
  /// The lag is that of all event loops, also where they serve no viewer of the stream.
  package func statistics(of stream: LiveStream) -> ViewerStatistics {
    var statistics = self.outputs.statistics(of: stream)
    guard self.outputs.output(of: stream.main) != nil else { return statistics }
    statistics.loopLag = max(statistics.loopLag, self.lagMeter.maximum)
    statistics.udpSendBufferLength = self.directory.sockets?.sendBufferLength
    return statistics
  }

  /// Opens the ports; without effect when they are open.
  ///
  /// - Parameter certificate: That of TLS where the settings name none.
  /// - Throws: `VidiconError`, as ``TCPServer/start(certificate:_:)`` does, and `.invalidSpecification` for unusable credentials.
  package func start(certificate: TLSCertificate? = nil) async throws(VidiconError) {
    guard self.ports == nil else { return }
    for user in self.accessControl.settings.users where !user.isUsable {
      throw VidiconError(
        .invalidSpecification, subject: "user \"\(user.user)\"",
        cause: "no player can log in with this name and password",
        nextStep: "give a name without a colon and a password that is not empty")
    }
    if self.settings.offersUDP {
      self.directory.sockets = try await DatagramSockets.open(
        address: TCPListener.boundAddress(self.settings.address), group: self.group)
    }
    let directory = self.directory
    let plainSession = self.sessionConfiguration(isSecure: false)
    let secureSession = self.sessionConfiguration(isSecure: true)
    do throws(VidiconError) {
      try await self.tcp.start(certificate: certificate) { environment in
        RTSPConnectionHandler(
          environment.isEncrypted ? secureSession : plainSession, directory, environment)
      }
    } catch {
      await directory.closeSockets()
      throw error
    }
    self.lagMeter.start()
    self.reporting.withLock { $0 = directory.scheduleReports(on: self.group.next()) }
  }

  /// Closes the ports and every connection.
  package func stop() async {
    self.reporting.withLock { $0.take() }?.cancel()
    self.lagMeter.stop()
    await self.tcp.stop()
    await self.directory.closeSockets()
    // Shutdown fails only when called twice or on one of its own event loops.
    if self.ownsGroup { try? await self.group.shutdownGracefully() }
  }

  /// The configuration of a listener's sessions; UDP is refused on TLS connections, since RTP over UDP is not encrypted.
  private func sessionConfiguration(isSecure: Bool) -> RTSPServerConfiguration {
    let ports = self.directory.sockets.map {
      RTSPTransport.Pair(rtp: UInt16($0.ports.rtp), rtcp: UInt16($0.ports.rtcp))
    }
    return RTSPServerConfiguration(
      serverName: "Vidicon",
      access: self.accessControl,
      udpPorts: isSecure ? nil : ports,
      timeout: self.settings.sessionTimeout)
  }
}

/// Ports, TLS and timeouts of an `RTSPServer`.
public struct RTSPServerSettings: Hashable, Sendable {
  /// The TCP port, 0 to 65,535; 0 for any free one.
  public var port: Int
  /// Ports in place of one that is in use, in the order in which they are tried, 0 for any free one; without them, the default, a
  /// server whose port is in use does not start.
  public var alternativePorts: [Int] = []
  /// The numeric address to listen on; nil for all IPv4 and IPv6 addresses of this machine.
  public var address: String?
  /// Whether clients may set up UDP; otherwise UDP is refused with status 461, and clients use TCP.
  public var offersUDP = false
  /// RTSP over TLS in addition to RTSP; nil for none.
  public var tls: TLSSettings?
  /// Time without a request or RTCP packet after which a connection is closed; whole seconds.
  public var sessionTimeout = MediaDuration.seconds(60)
  /// Time without progress after which a viewer that is too slow is closed; 10 s by default.
  public var stallTimeout = MediaDuration.seconds(10)

  /// Creates settings of a TCP port, without TLS and UDP.
  public init(port: Int = 8554) {
    self.port = port
  }
}
