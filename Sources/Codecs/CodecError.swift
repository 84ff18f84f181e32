internal import CLibav

/// Why an encoder cannot be opened or has failed.
public struct CodecError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What kind of failure it is.
  public enum Code: Hashable, Sendable {
    /// There is no encoder of that name on this machine.
    case missingEncoder
    /// The encoder exists but does not take these settings, or its device is missing.
    case openFailed
    /// It was open and then failed.
    case encodingFailed
  }

  /// What kind of failure it is.
  public var code: Code
  /// The encoder's name in libavcodec.
  public var encoder: String
  /// What happened, for a user to read.
  public var cause: String
  /// What the user can do about it.
  public var nextStep: String

  /// An error.
  public init(_ code: Code, encoder: String, cause: String, nextStep: String) {
    self.code = code
    self.encoder = encoder
    self.cause = cause
    self.nextStep = nextStep
  }

  /// One line with encoder, cause and next step.
  public var description: String {
    "encoder \(self.encoder): \(self.cause); \(self.nextStep)"
  }
}

/// libavutil's text for one of its negative error codes.
func libavMessage(_ code: Int32) -> String {
  withUnsafeTemporaryAllocation(of: CChar.self, capacity: 128) { text in
    guard av_strerror(code, text.baseAddress, text.count) == 0 else { return "error \(code)" }
    return String(cString: text.baseAddress!)
  }
}

/// What FFmpeg's libraries write to standard error by themselves.
public enum LibavLog {
  /// Turns it off, for the whole process: what matters is told by errors.
  public static func silence() {
    av_log_set_level(AV_LOG_QUIET)
  }
}
