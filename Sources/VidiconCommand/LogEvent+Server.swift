import Authentication
import Media
import Serving

extension LogEvent {
  /// An event of a server. Only those that need attention have a message.
  init(_ event: ServerEvent) {
    switch event {
    case .line(let text): self.init(.message, message: text)
    case .refused(let refusal): self.init(refusal)
    case .viewerJoined(let visit):
      self.init(
        .viewerJoined, .notice, stream: visit.stream,
        fields: ["protocol": visit.protocolName, "rendition": visit.rendition], address: visit.address)
    case .viewerLeft(let visit, let duration):
      self.init(
        .viewerLeft, .notice, stream: visit.stream,
        fields: [
          "protocol": visit.protocolName, "rendition": visit.rendition, "reason": visit.end.rawValue,
        ], address: visit.address, measures: ["duration": Self.text(of: duration)])
    case .viewerFailed(let stream, let text):
      // The text names the stream.
      self = LogEvent(.viewerFailed, message: text).about(stream)
    case .controlled(let method, let path, let stream, let role, let address, let status):
      self.init(
        .control, .notice, stream: stream,
        fields: ["method": method, "path": path, "status": "\(status)", "role": role?.name], address: address)
    }
  }

  private init(_ refusal: AccessRefusal) {
    switch refusal {
    case .wrongCredentials(let address, let count):
      self.init(
        .loginRefused, fields: ["reason": "wrong"], address: address, measures: ["count": "\(count)"],
        message: refusal.text)
    case .passwordWithoutTLS(let address, let count):
      self.init(
        .loginRefused, fields: ["reason": "no_tls"], address: address, measures: ["count": "\(count)"],
        message: refusal.text)
    case .throttled(let address, let delay):
      self.init(.loginThrottled, address: address, measures: ["delay": Self.text(of: delay)])
    case .foreignHost(let host, let count):
      self.init(.hostRefused, fields: ["host": host, "count": "\(count)"], message: refusal.text)
    }
  }
}
