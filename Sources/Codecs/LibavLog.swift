internal import CLibav

/// Messages of FFmpeg's libraries on standard error.
public enum LibavLog {
  /// Disables them for the whole process: failures are reported by errors and counters.
  public static func silence() {
    av_log_set_level(AV_LOG_QUIET)
  }
}

/// FFmpeg's text for a negative status of its libraries.
package func libavMessage(_ status: Int32) -> String {
  withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { text in
    guard av_strerror(status, text.baseAddress, text.count) == 0 else { return "error \(status)" }
    return String(cString: text.baseAddress!)
  }
}
