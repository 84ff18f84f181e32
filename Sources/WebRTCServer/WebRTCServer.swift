package import Authentication
package import Connections
internal import DTLS
public import Media
package import NIOCore
internal import NIOPosix
public import Streaming
internal import Synchronization
internal import Threading
internal import WebRTC

/// A WebRTC server for any number of streams and viewers, who open sessions by WHEP over HTTP: `/NAME/whep`.
///
/// All sessions share one UDP port. Samples are packetized once for all viewers, and sealed for each.
public final class WebRTCServer: Sendable {
  private let settings: WebRTCServerSettings
  private let hub: WebRTCHub
  private let directory: WebRTCStreamDirectory
  private let port = Mutex<DatagramPort?>(nil)

  /// Maximum number of candidates in an answer.
  private static let maximumCandidateCount = 16

  /// A server that listens after ``start()``; nil when OpenSSL cannot make a certificate.
  ///
  /// - Parameters:
  ///   - group: Event loops, one of which has all sessions.
  ///   - refusals: Counters of all servers.
  ///   - report: Receives lines about sessions that failed.
  package init?(
    settings: WebRTCServerSettings, group: any EventLoopGroup, refusals: RefusalCounters,
    report: @escaping @Sendable (String) -> Void = { _ in }
  ) {
    guard let security = OpenSSLSecurity() else { return nil }
    let clock = StreamClock.system
    self.settings = settings
    self.hub = WebRTCHub(
      eventLoop: group.next(), security: security, settings: settings, refusals: refusals,
      readClock: { clock.now() }, unixTime: { clock.unixTime(at: $0) }, report: report)
    self.directory = WebRTCStreamDirectory(hub: self.hub, refusals: refusals)
  }

  /// The UDP port in use; nil while the server does not listen.
  public var udpPort: Int? {
    self.port.withLock { $0.map { Int($0.port) } }
  }

  /// Publishes a running stream under its name.
  public func publish(_ stream: LiveStream) {
    self.directory.publish(stream)
  }

  /// Removes a stream; its viewers are disconnected when it is stopped.
  public func unpublish(_ stream: LiveStream) {
    self.directory.unpublish(stream)
  }

  /// Counters of a stream's viewers over WebRTC, those of its renditions included; all zero when it is not published.
  public func statistics(of stream: LiveStream) -> WebRTCStreamStatistics {
    guard var statistics = self.directory.broadcaster(of: stream)?.statistics else { return WebRTCStreamStatistics() }
    for rendition in stream.renditions { statistics.add(self.statistics(of: rendition)) }
    return statistics
  }

  /// Counters of a rendition's viewers over WebRTC; all zero before its first viewer.
  public func statistics(of rendition: StreamRendition) -> WebRTCStreamStatistics {
    self.directory.broadcaster(of: rendition)?.statistics ?? WebRTCStreamStatistics()
  }

  /// Opens the port; without effect when it is open.
  ///
  /// - Throws: ``VidiconError`` when the port cannot be bound, or an address of the settings is not numeric.
  public func start() async throws(VidiconError) {
    guard self.udpPort == nil else { return }
    for address in self.settings.candidateAddresses where IPAddress(parsing: address) == nil {
      throw VidiconError(
        .invalidSpecification, subject: "\"\(address)\"", cause: "it is not an IPv4 or IPv6 address",
        nextStep: "give the address at which clients reach this machine, such as 192.0.2.7")
    }
    let hub = self.hub
    let port = try await DatagramPort.open(
      address: self.settings.address ?? Self.anyAddress, port: self.settings.port, on: hub.eventLoop,
      receive: { hub.receive($0, from: $1) }, receiveEnded: { hub.flush() })
    try? await hub.eventLoop.submit {
      hub.setTransmit({ port.send($0).dropped }, discardWaiting: { port.discardWaiting() })
    }
    .get()
    self.port.withLock { $0 = port }
  }

  /// Ends all sessions, and closes the port.
  public func stop() async {
    let port = self.port.withLock { port in
      defer { port = nil }
      return port
    }
    guard let port else { return }
    self.hub.closeSessions()
    // After the sessions have sent their last datagrams.
    try? await self.hub.eventLoop.submit {}.get()
    await port.close()
  }

  /// `::` (IPv6 and IPv4), or `0.0.0.0` on a machine without IPv6.
  private static var anyAddress: String {
    let devices = (try? System.enumerateDevices()) ?? []
    return devices.contains { $0.address?.protocol == .inet6 } ? "::" : "0.0.0.0"
  }
}

// MARK: WHEP

extension WebRTCServer: WHEPService {
  package func open(
    path: String, offer: ByteBuffer, client: IPAddress, localAddress: IPAddress?
  ) async throws(WHEPRefusal) -> WHEPSession {
    let parsed: WebRTCOffer
    do throws(ParsingError) {
      parsed = try WebRTCOffer(parsing: offer)
    } catch {
      throw .malformed("\(error)")
    }
    guard let port = self.udpPort, let broadcaster = await self.directory.find(path) else { throw .notFound }
    guard broadcaster.video != nil || broadcaster.hasAudio else { throw .nothingPublished }
    let candidates = self.candidates(port: UInt16(clamping: port), used: localAddress)
    return try await self.onEventLoop { (hub) throws(WHEPRefusal) in
      try hub.open(parsed, of: broadcaster, path: path, candidates: candidates, client: client)
    }
  }

  package func change(
    _ id: String, path: String, fragment: ByteBuffer, entityTags: String?
  ) async throws(WHEPRefusal) -> WHEPChange {
    let parsed: TrickleFragment
    do throws(ParsingError) {
      parsed = try TrickleFragment(parsing: fragment)
    } catch {
      throw .malformed("\(error)")
    }
    return try await self.onEventLoop { (hub) throws(WHEPRefusal) in
      try hub.change(id, path: path, parsed, entityTags: entityTags)
    }
  }

  package func close(_ id: String, path: String) async -> Bool {
    let hub = self.hub
    return (try? await hub.eventLoop.submit { hub.close(id, path: path) }.get()) ?? false
  }

  private func onEventLoop<Value: Sendable>(
    _ body: @escaping @Sendable (WebRTCHub) throws(WHEPRefusal) -> Value
  ) async throws(WHEPRefusal) -> Value {
    let hub = self.hub
    let result = try? await hub.eventLoop.submit { () -> Result<Value, WHEPRefusal> in
      do throws(WHEPRefusal) {
        return .success(try body(hub))
      } catch {
        return .failure(error)
      }
    }.get()
    // The event loop refuses work when it is shut down: the server stops.
    guard let result else { throw .notFound }
    return try result.get()
  }

  /// Addresses at which clients reach this machine: the address that this client used, those of the settings, then all others that other
  /// machines reach.
  private func candidates(port: UInt16, used: IPAddress?) -> [TransportAddress] {
    let isIPv4Only = (self.settings.address ?? Self.anyAddress).contains(":") == false
    var addresses = [used].compactMap(\.self) + self.settings.candidateAddresses.compactMap { IPAddress(parsing: $0) }
    if let own = self.settings.address, let ip = IPAddress(parsing: own), !["::", "0.0.0.0"].contains(own) {
      addresses.append(ip)
    } else {
      let devices = (try? System.enumerateDevices()) ?? []
      let others = devices.compactMap { $0.address?.ipAddress.flatMap { IPAddress(parsing: $0) } }
        .filter { !$0.isLoopback && !$0.isLinkLocal }
      addresses += others.filter { !TransportAddress(ip: $0, port: 0).isIPv6 }
      addresses += others.filter { TransportAddress(ip: $0, port: 0).isIPv6 }
    }
    var seen: Set<TransportAddress> = []
    let all = addresses.map { TransportAddress(ip: $0, port: port) }
      .filter { !(isIPv4Only && $0.isIPv6) && seen.insert($0).inserted }
    // Without a network, clients are on this machine.
    guard !all.isEmpty else { return [TransportAddress(ip: .v4(0x7F00_0001), port: port)] }
    return Array(all.prefix(Self.maximumCandidateCount))
  }
}
