internal import Authentication
internal import Media
internal import NIOCore
package import Streaming

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
