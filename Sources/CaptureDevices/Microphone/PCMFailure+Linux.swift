internal import Media
internal import Threading

#if canImport(CALSA)
internal import CALSA
internal import Libc

/// A failed call of the ALSA library.
struct PCMFailure: Error, Hashable {
  /// Positive error number, such as `ENODEV`.
  var number: Int32
  /// The failed action as a participle for messages: "opened", "read".
  var action: String
  /// Name of the PCM.
  var name: String

  /// - Throws: The failure when a status is negative.
  /// - Returns: The status.
  @discardableResult
  static func check<Status: SignedInteger>(
    _ status: Status, _ action: String, of name: String
  ) throws(PCMFailure) -> Status {
    guard status < 0 else { return status }
    throw PCMFailure(number: Int32(clamping: -Int64(clamping: status)), action: action, name: name)
  }

  /// Whether there is no such PCM, or its device is not connected.
  var isMissing: Bool {
    [ENOENT, ENODEV, ENXIO, EINVAL].contains(self.number)
  }

  /// ALSA's description of the error.
  var message: String {
    snd_strerror(-self.number).map { String(cString: $0) } ?? systemErrorMessage(self.number)
  }
}

extension VidiconError {
  /// Converts a failure to an error for the user of a microphone.
  init(_ failure: PCMFailure, source: String) {
    let name = failure.name
    switch failure.number {
    case EBUSY:
      let holders = SoundCard.holders(of: name)
      let cause = holders.isEmpty ? "it is in use by another program" : "it is in use by \(holders)"
      self.init(
        .notPermitted, subject: source, cause: cause,
        nextStep: "close that program, or share the device through PipeWire or PulseAudio with mic:pulse")
    case EACCES, EPERM: self = .audioNotPermitted(source: source)
    case ECONNREFUSED, EHOSTDOWN:
      self.init(
        .notFound, subject: source, cause: "the sound server does not respond",
        nextStep: "start PipeWire or PulseAudio, or choose a device that is listed by: vidicon devices")
    case ENODEV where failure.action != "opened", ENXIO where failure.action != "opened":
      self.init(
        .failed, subject: source, cause: "the device was disconnected", nextStep: "plug it in again")
    case ETIMEDOUT:
      self.init(
        .failed, subject: source, cause: "it delivers no audio", nextStep: "check that it is plugged in and switched on"
      )
    case EIO, EPIPE, EBADFD, ECONNRESET:
      self.init(
        .failed, subject: source, cause: "the device or the sound server was disconnected",
        nextStep: "plug it in or start it again")
    default:
      self.init(
        .failed, subject: source, cause: "it cannot be \(failure.action) (\(failure.message))",
        nextStep: "try it with: arecord -D '\(name)' -d 1 /dev/null")
    }
  }

  /// The user has no permission to use audio devices.
  static func audioNotPermitted(source: String) -> VidiconError {
    VidiconError(
      .notPermitted, subject: source, cause: "you may not use this machine's audio devices",
      nextStep: CurrentUser.nextStep(joining: "audio"))
  }
}
#endif
