internal import CLibav

/// The log messages that FFmpeg's libraries write to standard error.
package enum LibavLog {
  private static let silenced: Void = av_log_set_level(AV_LOG_QUIET)

  /// Turns the messages off for the whole process, once; failures are reported as errors and counters. Called wherever an
  /// encoder, decoder or input is opened.
  package static func silence() {
    _ = self.silenced
  }
}

/// FFmpeg's text for a negative status of its libraries.
package func libavMessage(_ status: Int32) -> String {
  withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { text in
    guard av_strerror(status, text.baseAddress, text.count) == 0 else { return "error \(status)" }
    return String(cString: text.baseAddress!)
  }
}
