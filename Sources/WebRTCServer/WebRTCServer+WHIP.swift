package import Authentication
internal import Media
internal import MediaInput
package import NIOCore
package import Serving
package import Streaming
internal import WebRTC

// MARK: WHIP

extension WebRTCServer: WHIPService {
  package func admitPublication(of name: String, takesOver: Bool) async throws(WebRTCRefusal) {
    let (stream, _) = try self.publishable(name)
    try await self.onEventLoop(orStopped: .notFound) { (hub) throws(WebRTCRefusal) in
      try hub.admitPublication(of: stream, takesOver: takesOver)
    }
  }

  package func openPublication(
    of name: String, offer: ByteBuffer, takesOver: Bool, serverAddresses: [IPAddress]
  ) async throws(WebRTCRefusal) -> WHEPSession {
    let parsed = try WebRTCRefusal.parsing { () throws(ParsingError) in try WebRTCOffer(parsing: offer) }
    let (stream, input) = try self.publishable(name)
    guard let port = self.udpPort else { throw .notFound }
    let candidates = self.candidates(port: UInt16(clamping: port), used: serverAddresses)
    return try await self.onEventLoop(orStopped: .notFound) { (hub) throws(WebRTCRefusal) in
      try hub.openPublication(of: stream, input, parsed, takesOver: takesOver, candidates: candidates)
    }
  }

  package func changePublication(
    _ id: String, of name: String, fragment: ByteBuffer, entityTags: String?
  ) async throws(WebRTCRefusal) -> WHEPChange {
    let parsed = try WebRTCRefusal.parsing { () throws(ParsingError) in try TrickleFragment(parsing: fragment) }
    return try await self.onEventLoop(orStopped: .notFound) { (hub) throws(WebRTCRefusal) in
      try hub.changePublication(id, of: name, parsed, entityTags: entityTags)
    }
  }

  package func closePublication(_ id: String, of name: String) async -> Bool {
    let hub = self.hub
    return (try? await hub.eventLoop.submit { hub.closePublication(id, of: name) }.get()) ?? false
  }

  /// The stream of a name with its source `whip:`, also while another source is current.
  private func publishable(_ name: String) throws(WebRTCRefusal) -> (LiveStream, PublishedInput) {
    guard let stream = self.outputs.stream(named: name) else { throw .notFound }
    guard let input = Self.input(of: stream) else { throw .noSource }
    return (stream, input)
  }

  private static func input(of stream: LiveStream) -> PublishedInput? {
    stream.videoSources.lazy.compactMap { PublishedSource.input(of: $0, over: .whip) }.first
  }
}

// MARK: Counters

extension WebRTCServer {
  /// Counters of a stream's WebRTC publishers; nil for a stream without the source `whip:`.
  package func publisherStatistics(of stream: LiveStream) -> WebRTCPublisherStatistics? {
    self.hub.publisherBoard[stream] ?? Self.input(of: stream).map { _ in WebRTCPublisherStatistics() }
  }
}
