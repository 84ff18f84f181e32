internal import Authentication
package import Media
internal import NIOCore
package import Streaming

/// The time for which a viewer is sent the media of a rendition, for the log of the owner.
package struct ViewerVisit: Hashable, Sendable {
  /// Cause of the end of a visit.
  package enum End: String, Hashable, Sendable {
    /// The client has ended it, its connection is lost, or it has violated the protocol.
    case client
    /// The client does not respond.
    case silent
    /// The client has read nothing for too long.
    case slow
    /// The stream has ended, or the server stops.
    case stream
    /// The server has closed it for another client: there were too many connections or sessions, or no file descriptor was left.
    case limit
    /// Privacy was switched on while frames of before waited for it, which cannot be taken back.
    case privacy
  }

  /// Name of the stream.
  package var stream: String
  /// Name of the rendition that the viewer has asked for.
  package var rendition: String
  /// Name of the protocol in lower case, such as `rtsp`.
  package var protocolName: String
  /// Address of the client without its port, which differs each time.
  package var address: String
  /// Time of its beginning, on the clock of the server.
  package var start: MediaTime
  /// Cause of its end, once that is known.
  package var end = End.client

  /// Creates a visit that begins.
  package init(stream: String, rendition: String, protocolName: String, address: String, start: MediaTime) {
    self.stream = stream
    self.rendition = rendition
    self.protocolName = protocolName
    self.address = address
    self.start = start
  }
}

extension MediaConnection {
  /// Reports to the owner that the viewer is sent the media of a rendition from now on; without effect before the end of an earlier visit.
  package final func beginVisit(of rendition: Rendition) {
    guard self.visit == nil, let context else { return }
    let visit = ViewerVisit(
      stream: rendition.stream.name, rendition: rendition.name, protocolName: self.protocolName,
      address: IPAddress.plainText(context.remoteAddress?.ipAddress ?? ""), start: self.now)
    self.visit = visit
    self.registration?.report(.viewerJoined(visit))
  }

  /// Reports to the owner that the viewer is sent no media any more; without effect where there is no visit.
  package final func endVisit() {
    guard var visit = self.visit.take() else { return }
    if visit.end == .client, self.registration?.isDisplaced == true { visit.end = .limit }
    self.registration?.report(.viewerLeft(visit, after: self.now - visit.start))
  }
}
