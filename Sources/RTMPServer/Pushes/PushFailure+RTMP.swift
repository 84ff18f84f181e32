internal import RTMP
internal import Serving

extension PushFailure {
  /// The line of a server's refusal.
  static func text(of failure: RTMPClientFailure) -> String {
    let detail = failure.code.isEmpty ? "" : " (\(failure.code))"
    switch failure.step {
    case .handshake: return "no RTMP server there: \(failure.description)"
    case .connect: return "the application is refused: \(failure.description)\(detail)"
    case .createStream: return "no stream is created: \(failure.description)\(detail)"
    case .request: return "the stream key is refused: \(failure.description)\(detail)"
    case .streaming: return "\(failure.description)\(detail)"
    }
  }
}
