internal import CLibav

/// The messages that FFmpeg's libraries write to standard error.
public enum LibavLog {
  /// Turns them off for the whole process: failures are reported by errors and counters.
  public static func silence() {
    av_log_set_level(AV_LOG_QUIET)
  }
}

/// FFmpeg's description of a negative status of its libraries.
package func libavMessage(_ status: Int32) -> String {
  withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { text in
    guard av_strerror(status, text.baseAddress, text.count) == 0 else { return "error \(status)" }
    return String(cString: text.baseAddress!)
  }
}
