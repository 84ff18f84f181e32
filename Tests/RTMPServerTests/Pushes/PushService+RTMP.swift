import Media
import Pushing
import RTMPServer
import Serving

extension PushService {
  /// Creates a service whose pushes are all over RTMP.
  convenience init(authorityFile: String? = nil, stepTimeout: MediaDuration) {
    self.init(authorityFile: authorityFile, stepTimeout: stepTimeout) { destination, connector, report in
      guard case .rtmp(let url) = destination else { preconditionFailure("all pushes are over RTMP here") }
      return connector.rtmpLink(to: url, report: report)
    }
  }
}
