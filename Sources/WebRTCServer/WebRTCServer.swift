package import Authentication
package import Media
package import NIOCore
package import NIOPosix
internal import RTP
package import Serving
package import Streaming
internal import Synchronization
internal import Threading
internal import WebRTC

/// A WebRTC server for any number of streams and viewers, who open sessions by WHEP over HTTP: `/NAME/whep`.
///
/// All sessions share one UDP port. Samples are packetized once for all viewers, and sealed for each.
///
/// `CameraServer` has one. The API calls it as `WHEPService` and `WHIPService` for requests, in their tasks; it does the work of a session
/// on the event loop of its hub:
///
/// ```swift
/// server.serve(stream)
/// let session = try await server.open(path: "hello", offer: body, client: address, serverAddresses: [])
/// ```
package final class WebRTCServer: StreamServer {
  package static let protocolName = "webrtc"

  private let settings: WebRTCServerSettings
  let hub: WebRTCHub
  package let outputs: OutputDirectory<WebRTCOutput>
  private let group: MultiThreadedEventLoopGroup
  private let registry: ConnectionRegistry
  private let report: @Sendable (String) -> Void
  private let sockets: ListeningSockets
  private let port = Mutex<(udp: DatagramPort, tcp: ICETCPPort?)?>(nil)

  /// A server that listens after ``start()``; nil when OpenSSL cannot make a certificate.
  ///
  /// - Parameters:
  ///   - group: Event loops, one of which has all sessions.
  ///   - registry: Connections and refusals of all servers.
  ///   - report: Receives lines about sessions that failed.
  ///   - sockets: Sockets in place of ones that are opened.
  package init?(
    settings: WebRTCServerSettings, group: MultiThreadedEventLoopGroup, registry: ConnectionRegistry,
    report: @escaping @Sendable (String) -> Void = { _ in }, sockets: ListeningSockets = ListeningSockets()
  ) {
    guard let security = OpenSSLSecurity() else { return nil }
    let clock = StreamClock.system
    self.settings = settings
    self.group = group
    self.registry = registry
    self.report = report
    self.sockets = sockets
    self.hub = WebRTCHub(
      eventLoop: group.next(), security: security, settings: settings, refusals: registry.refusals,
      readClock: { clock.now() }, unixTime: { clock.unixTime(at: $0) }, report: report,
      log: registry.log)
    self.outputs = .webRTC(self.hub, refusals: registry.refusals)
  }

  /// The UDP port in use; nil while the server does not listen.
  package var udpPort: Int? {
    self.port.withLock { $0.map { Int($0.udp.port) } }
  }

  package func statistics(of stream: LiveStream) -> ViewerStatistics {
    var statistics = self.outputs.statistics(of: stream)
    statistics.viewerList = statistics.viewerList ?? []
    return statistics
  }

  /// Opens the port; without effect when it is open.
  ///
  /// - Throws: ``VidiconError`` when the port cannot be bound, or an address of the settings is not numeric.
  package func start() async throws(VidiconError) {
    guard self.udpPort == nil else { return }
    for address in self.settings.candidateAddresses where IPAddress(parsing: address) == nil {
      throw VidiconError(
        .invalidSpecification, subject: "\"\(address)\"", cause: "it is not an IPv4 or IPv6 address",
        nextStep: "give the address at which clients reach this machine, such as 192.0.2.7")
    }
    let (udp, tcp) = try await self.openPorts()
    let hub = self.hub
    try? await hub.eventLoop.submit {
      hub.setTransmit(
        { batch in
          let (hasTCP, hasUDP) = batch.kinds
          guard hasTCP, let tcp else { return udp.send(batch).dropped }
          let dropped = hasUDP ? udp.send(batch.messages(overTCP: false)).dropped : 0
          return dropped + tcp.send(batch.messages(overTCP: true))
        },
        discardWaiting: {
          udp.discardWaiting()
          tcp?.discardWaiting()
        })
    }
    .get()
    self.port.withLock { $0 = (udp, tcp) }
  }

  /// Opens the port of the settings, or an alternative one where it is in use, for UDP and TCP.
  ///
  /// - Returns: No TCP port where the number is in use: then clients use UDP alone.
  private func openPorts() async throws(VidiconError) -> (DatagramPort, ICETCPPort?) {
    try await PortChoice(self.settings.port, alternatives: self.alternativePorts)
      .open { number throws(VidiconError) in try await self.openPorts(number) }
  }

  /// Ports in place of one that is in use: any free one where the settings have none, and need none.
  private var alternativePorts: [Int] {
    self.settings.alternativePorts.isEmpty && !self.settings.isRequired ? [0] : self.settings.alternativePorts
  }

  private func openPorts(_ number: Int) async throws(VidiconError) -> (DatagramPort, ICETCPPort?) {
    let hub = self.hub
    let opener = TCPListener(
      group: self.group, registry: self.registry, address: self.settings.address,
      waterMark: .init(low: 32 * 1024, high: 64 * 1024), options: "--webrtc-port", unprivilegedPort: 8189,
      sockets: self.sockets, roles: TCPListener.Roles(plain: .webRTCOverTCP))
    let sessions = ICETCPPort.Sessions(
      eventLoop: hub.eventLoop,
      receive: { datagrams, address in
        for datagram in datagrams { hub.receive(datagram, from: address) }
        hub.flush()
      }, contains: { hub.hasSession(at: $0) })
    var attempts = 0
    while true {
      attempts += 1
      let inherited = self.sockets.take(.webRTC)
      let udp = try await DatagramPort.open(
        address: TCPListener.boundAddress(self.settings.address), port: number, inherited: inherited,
        on: hub.eventLoop, receive: { hub.receive($0, from: $1) }, receiveEnded: { hub.flush() })
      do throws(VidiconError) {
        let tcp = try await ICETCPPort.open(opener, port: Int(udp.port), sessions: sessions)
        self.keep(udp, isInherited: inherited != nil)
        return (udp, tcp)
      } catch {
        // Any free port, and one with alternatives, is to be free for both.
        let isTriedAgain = number == 0 ? attempts < Self.maximumPortAttempts : !self.alternativePorts.isEmpty
        guard error.code == .portInUse, isTriedAgain else {
          let cause = error.code == .portInUse ? "is in use by another program" : "cannot be opened (\(error.cause))"
          self.report("TCP port \(udp.port) \(cause): WebRTC needs a network that carries UDP")
          self.keep(udp, isInherited: inherited != nil)
          return (udp, nil)
        }
      }
      await udp.close()
      guard number == 0 else {
        throw VidiconError(
          .portInUse, subject: "TCP port \(number)", cause: "another program uses it",
          nextStep: "choose another one with --webrtc-port, 0 for any free one")
      }
    }
  }

  /// Lets the socket be kept for another process, unless it was.
  private func keep(_ udp: DatagramPort, isInherited: Bool) {
    if !isInherited { udp.withDescriptor { self.sockets.opened(.webRTC, $0) } }
  }

  /// Maximum number of free ports that are tried.
  private static let maximumPortAttempts = 8

  /// Stops accepting connections over TCP.
  package func pause() async {
    await self.port.withLock { $0?.tcp }?.pause()
  }

  /// Ends all sessions, and closes the port.
  package func stop() async {
    let port = self.port.withLock { port in
      defer { port = nil }
      return port
    }
    guard let port else { return }
    self.hub.closeSessions()
    // After the sessions have sent their last datagrams.
    try? await self.hub.eventLoop.submit {}.get()
    await port.udp.close()
    await port.tcp?.close()
  }
}

// MARK: WHEP

extension WebRTCServer: WHEPService {
  package var links: [String] { self.settings.iceServers.map(\.link) }

  package func open(
    path: String, offer: ByteBuffer, client: IPAddress, serverAddresses: [IPAddress]
  ) async throws(WebRTCRefusal) -> WHEPSession {
    let parsed = try WebRTCRefusal.parsing { () throws(ParsingError) in try WebRTCOffer(parsing: offer) }
    guard let port = self.udpPort, let output = await self.outputs.find(path) else { throw .notFound }
    guard output.video != nil || output.hasAudio else { throw .noMedia }
    var transcoding: WebRTCOutput?
    if let video = output.video, !WebRTCAnswer.hasDecoder(of: video, in: parsed) {
      // Fragments before slices: those cost a few percent of the bits.
      let mode = [H264PacketizationMode.nonInterleaved, .singleNALUnit].first {
        WebRTCAnswer.hasDecoder(of: .constrainedBaseline, $0, in: parsed)
      }
      if let mode { transcoding = await output.transcoding(for: mode) }
    }
    let answering = transcoding
    let candidates = self.candidates(port: UInt16(clamping: port), used: serverAddresses)
    return try await self.onEventLoop(orStopped: .notFound) { (hub) throws(WebRTCRefusal) in
      try hub.open(parsed, of: output, as: answering, path: path, candidates: candidates, client: client)
    }
  }

  package func change(
    _ id: String, path: String, fragment: ByteBuffer, entityTags: String?
  ) async throws(WebRTCRefusal) -> WHEPChange {
    let parsed = try WebRTCRefusal.parsing { () throws(ParsingError) in try TrickleFragment(parsing: fragment) }
    return try await self.onEventLoop(orStopped: .notFound) { (hub) throws(WebRTCRefusal) in
      try hub.change(id, path: path, parsed, entityTags: entityTags)
    }
  }

  package func close(_ id: String, path: String) async -> Bool {
    let hub = self.hub
    return (try? await hub.eventLoop.submit { hub.close(id, path: path) }.get()) ?? false
  }

  /// - Parameter failure: Thrown when the server stops.
  func onEventLoop<Value: Sendable, Failure: Error>(
    orStopped failure: Failure, _ body: @escaping @Sendable (WebRTCHub) throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    let hub = self.hub
    let result = try? await hub.eventLoop.submit { () -> Result<Value, Failure> in
      do throws(Failure) {
        return .success(try body(hub))
      } catch {
        return .failure(error)
      }
    }.get()
    // The event loop refuses work when it is shut down: the server stops.
    guard let result else { throw failure }
    return try result.get()
  }

  /// Addresses at which clients reach this machine: those that this client used, those of the settings, then all others that other
  /// machines reach; each for UDP, then each for TCP.
  func candidates(port: UInt16, used: [IPAddress]) -> [TransportAddress] {
    let (isIPv4Only, hasTCP) = self.port.withLock { ($0?.udp.isIPv6 == false, $0?.tcp != nil) }
    var configured = self.settings.candidateAddresses.compactMap { IPAddress(parsing: $0) }
    var interfaces: [IPAddress] = []
    if let own = self.settings.address, let ip = IPAddress(parsing: own), !["::", "0.0.0.0"].contains(own) {
      configured.append(ip)
    } else {
      let devices = (try? System.enumerateDevices()) ?? []
      interfaces = devices.compactMap { $0.address.flatMap { IPAddress($0) } }
    }
    let addresses = WebRTCCandidates.addresses(
      used: used, configured: configured, interfaces: interfaces, isIPv4Only: isIPv4Only)
    return [false, true].filter { !$0 || hasTCP }.flatMap { isTCP in
      addresses.map { TransportAddress(ip: $0, port: port, isTCP: isTCP) }
    }
  }
}

extension WebRTCRefusal {
  /// The value that a parser returns, whose error is a refusal.
  static func parsing<Value>(_ body: () throws(ParsingError) -> Value) throws(WebRTCRefusal) -> Value {
    do throws(ParsingError) {
      return try body()
    } catch {
      throw .malformed("\(error)")
    }
  }
}

/// Port, addresses and ICE servers of a `WebRTCServer`.
public struct WebRTCServerSettings: Hashable, Sendable {
  /// The UDP port, 0 to 65 535, of all viewers, and the TCP port of those whose networks carry no UDP; 0 for any free one.
  public var port: Int
  /// Ports in place of one that is in use, in the order in which they are tried, 0 for any free one; without them, the default, a
  /// server whose port is in use does not start.
  public var alternativePorts: [Int] = []
  /// Whether a server does not start without WebRTC, of which OpenSSL may be unable to make the certificate.
  public var isRequired = true
  /// The numeric address to listen on; nil for all IPv4 and IPv6 addresses of this machine.
  public var address: String?
  /// Numeric addresses at which clients reach this machine, beside its own: that of a router that forwards the port, or of the
  /// host of a container.
  public var candidateAddresses: [String] = []
  /// STUN and TURN servers for clients, which get them with the answer.
  public var iceServers: [ICEServer] = []
  /// Maximum number of sessions of viewers and publishers at a time; 1000 by default.
  public var maximumSessionCount = 1000
  /// Maximum number of sessions that one IPv4 address, or network of 64 bits in IPv6, opens.
  public var maximumSessionCountPerClient = 100

  /// Creates settings of a UDP port.
  public init(port: Int = 8189) {
    self.port = port
  }
}
