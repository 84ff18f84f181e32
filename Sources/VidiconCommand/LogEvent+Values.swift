import Foundation
import Media
import Vidicon

extension LogEvent {
  /// A duration in seconds, such as "61.0".
  static func text(of duration: MediaDuration) -> String { String(format: "%.1f", duration.seconds) }

  /// A snapshot that could not be saved in a folder.
  init(snapshotFailure error: VidiconError, in folder: String, of stream: String) {
    self.init(
      .snapshotFailed, stream: stream, fields: ["path": folder], message: "no snapshot was saved: \(error)")
  }

  /// The start of a stream with the first of its addresses of each protocol, and for the source of a publisher how that sends it, without
  /// the key.
  init(
    startOf stream: String, source: String?, audio: String?, addresses: StreamAddresses, choice: String?,
    publisher: PublisherAccess?
  ) {
    let server = publisher.flatMap { addresses.publishServer($0.scheme) }
    let hint = server.flatMap { publisher?.text(server: $0, isTerminal: false) }
    self.init(
      .streamStarted, .notice, stream: stream,
      fields: [
        "source": source, "audio": audio, "page": addresses.page.first, "rtsp": addresses.rtsp.first,
        "rtmp": addresses.rtmp.first, "whep": addresses.whep.first, "publish": server, "choice": choice,
      ], message: hint.map { "publish: \($0)" })
  }

  /// An effect that fails, is slow or does less, also a search for faces that has stalled.
  init(_ report: EffectReport, of stream: String?) {
    self.init(
      .effect, stream: stream, fields: ["effect": report.name, "problem": report.problem], message: "\(report)")
  }
}

extension EffectReport {
  /// Name of the kind, for programs.
  var problem: String {
    switch self.kind {
    case .slow: "slow"
    case .failed: "failed"
    case .limited: "limited"
    }
  }
}
