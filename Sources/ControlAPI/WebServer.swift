package import Authentication
internal import Effects
package import HLSServer
package import HTTPServer
package import Media
package import NIOCore
package import NIOPosix
package import Serving
package import Streaming

/// The web server of any number of streams: their media, the web page, the API and metrics, over one ``HTTPServer``.
///
/// `CameraServer` has one, which it calls from any task:
///
/// ```swift
/// let http = WebServer(settings: settings, access: access)
/// try await http.start()
/// http.serve(stream)        // http://HOST:8080/NAME
/// ```
package final class WebServer: Sendable {
  private let http: HTTPServer
  /// Media of the streams.
  let hls: HLSServer
  /// All resources.
  let responder: HTTPResponder

  /// Creates a server; ``start()`` opens its ports.
  ///
  /// - Parameters:
  ///   - access: Users, tokens and rules, shared with other protocols.
  ///   - passwords: Compares passwords with scrypt hashes for all servers; nil for a checker of its own.
  ///   - group: Event loops shared with other servers, and shut down by their owner; nil for a group of its own.
  ///   - registry: The connections of all servers of the process.
  ///   - report: Receives a line for each renewed certificate that cannot be stored.
  ///   - sockets: Sockets in place of ones that are opened.
  package init(
    settings: HTTPServerSettings, access: AccessControl, passwords: PasswordChecker? = nil,
    providers: WebServerProviders = WebServerProviders(), group: MultiThreadedEventLoopGroup? = nil,
    registry: ConnectionRegistry = ConnectionRegistry(), report: @escaping @Sendable (String) -> Void = { _ in },
    sockets: ListeningSockets = ListeningSockets()
  ) {
    self.http = HTTPServer(
      settings: settings, access: access, group: group, registry: registry, report: report, sockets: sockets)
    self.hls = HLSServer(
      policy: self.http.policy, group: self.http.group, viewerIdleTime: settings.limits.viewerIdleTime)
    self.responder = HTTPResponder(
      http: self.http, hls: self.hls, providers: providers, passwords: passwords ?? PasswordChecker(access: access),
      files: OpenFiles(most: settings.limits.downloads), checkInterval: settings.limits.checkInterval)
  }

  /// The ports in use; nil before ``start()``.
  package var ports: HTTPServer.Ports? { self.http.ports }

  /// SHA-256 fingerprint of the certificate, see ``HTTPServer/certificateFingerprint``.
  package var certificateFingerprint: String? { self.http.certificateFingerprint }

  /// SHA-256 fingerprint of the local authority, in the same form; nil without one and before ``start()``.
  package var authorityFingerprint: String? { self.http.authority?.fingerprint }

  /// The certificate, for other servers of the process; nil without TLS and before ``loadCertificate()``.
  package var certificate: TLSCertificate? { self.http.certificate }

  /// Viewers and bytes sent of a stream over HTTP; zero when it is not served.
  package func statistics(of stream: LiveStream) -> HTTPStreamStatistics { self.hls.statistics(of: stream) }

  /// HLS viewers of a rendition, see ``HLSServer/hlsViewers(of:)``.
  package func hlsViewers(of rendition: Rendition) -> Int { self.hls.hlsViewers(of: rendition) }

  /// Serves a started stream under its name; the files of the first stream are also served without a name.
  package func serve(_ stream: LiveStream) {
    let served = self.hls.makeServedStream(stream)
    let controlled = ControlledStream(served)
    self.responder.controlled.insert(controlled, for: stream)
    self.hls.serve(served) { stream.effects.contains { $0.isPrivacy } }
    stream.add(controlled.faces)
  }

  /// Stops serving a stream, see ``HLSServer/stopServing(_:)``; responses with its events end.
  package func stopServing(_ stream: LiveStream) {
    let controlled = self.responder.controlled.remove(stream)
    if let controlled { stream.remove(controlled.faces) }
    self.hls.stopServing(stream)
    controlled?.faces.streamEnded()
  }

  /// Reads the certificate of TLS, or has it made, see ``HTTPServer/loadCertificate()``.
  ///
  /// - Throws: `VidiconError` for unusable files.
  package func loadCertificate() throws(VidiconError) { try self.http.loadCertificate() }

  /// Opens the ports; no effect when they are open.
  ///
  /// - Throws: `VidiconError`, see ``HTTPServer/start(serving:)``.
  package func start() async throws(VidiconError) { try await self.http.start(serving: self.responder) }

  /// Stops streams for another process that continues them, see ``HLSServer/suspend()``.
  package func suspendStreams() -> ByteBuffer? { self.hls.suspend() }

  /// Continues streams of another process, see ``HLSServer/resume(_:)``.
  package func resumeStreams(of bytes: ByteBuffer) throws(ParsingError) { try self.hls.resume(bytes) }

  /// Stops accepting connections, see ``HTTPServer/pause()``.
  package func pause() async { await self.http.pause() }

  /// Ends all streams, then closes the ports and every connection.
  ///
  /// Waits until HLS players have reloaded the playlist, at most a target duration and 0.3 s (4.3 s in all), so that
  /// they see the end of the stream.
  package func stop() async {
    for served in self.hls.streams.all { self.stopServing(served.stream) }
    await self.hls.waitForViewers()
    await self.http.stop()
  }

  /// Closes the ports and every connection; the streams stay registered.
  package func closePorts() async { await self.http.closePorts() }
}
