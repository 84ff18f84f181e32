internal import CLibav
package import Media

extension VidiconError {
  /// Converts a negative status of libavformat or libavcodec to an error for the user of a file.
  package init(libav status: Int32, source: String) {
    let cause = libavMessage(status)
    switch status {
    case -ENOENT:
      self.init(.notFound, subject: source, cause: "there is no such file", nextStep: "check the path")
    case -EACCES, -EPERM:
      self.init(
        .notPermitted, subject: source, cause: "it may not be read",
        nextStep: "change its permissions or run as a user who may read it")
    case -EISDIR:
      self.init(
        .invalidData, subject: source, cause: "it is a directory", nextStep: "name one file in it")
    case vidicon_averror_invaliddata:
      self.init(
        .invalidData, subject: source, cause: "it is not a media file, or it is damaged",
        nextStep: "check it with: ffprobe \(source)")
    case vidicon_averror_protocol_not_found:
      self.init(
        .invalidSpecification, subject: source, cause: "its protocol is not known",
        nextStep: "give the path of a file, or a URL that is listed by: ffmpeg -protocols")
    case vidicon_averror_exit:
      self.init(
        .failed, subject: source, cause: "nothing came from it for 10 seconds", nextStep: "check that it can be reached"
      )
    default:
      self.init(.failed, subject: source, cause: cause, nextStep: "check it with: ffprobe \(source)")
    }
  }
}

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
