import Foundation
import Media
import Vidicon

extension LogEvent {
  /// A duration in seconds, such as "61.0".
  static func text(of duration: MediaDuration) -> String { String(format: "%.1f", duration.seconds) }

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
