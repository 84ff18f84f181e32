internal import Media
internal import Threading

#if canImport(Darwin)
internal import Darwin
#else
internal import Glibc
#endif

/// A call to a device that failed.
struct V4L2Failure: Error, Hashable {
  /// What the call was for.
  enum Call: String, Hashable {
    case open = "it cannot be opened"
    case query = "it does not tell what it is"
    case input = "the input cannot be chosen"
    case format = "the format cannot be set"
    case buffers = "it gives no memory for pictures"
    case map = "its memory cannot be mapped"
    case start = "it cannot be started"
    case capture = "it gives no more pictures"
    case control = "the control cannot be set"
  }

  /// What the call was for.
  let call: Call
  /// What the system said.
  let number: Int32
  /// What it is, when it is no camera.
  var kind: String? = nil

  /// Whether another program has it.
  var isBusy: Bool {
    self.number == EBUSY
  }

  /// Whether it was pulled out.
  var isGone: Bool {
    self.number == ENODEV || self.number == ENXIO || self.number == ENOENT || self.number == EBADF
  }

  /// What to tell the user.
  ///
  /// - Parameters:
  ///   - source: The camera, as its user names it.
  ///   - path: The node, to look for who holds it.
  func captureError(source: String, path: String) -> VidiconError {
    if let kind = self.kind {
      return VidiconError(
        .notFound, subject: source, cause: "\(path) is no camera, but \(kind)",
        nextStep: "see what there is with: vidicon devices")
    }
    switch self.number {
    case EBUSY:
      let holder = DeviceHolder.find(path: path)
      return VidiconError(
        .notPermitted, subject: source, cause: "it is in use\(holder.map { " by \($0)" } ?? " by another program")",
        nextStep: holder?.isThisProcess == true
          ? "use it for one stream only" : "close that program, or choose another camera")
    case EACCES, EPERM:
      return VidiconError(
        .notPermitted, subject: source, cause: "you may not open \(path)",
        nextStep: "run: sudo usermod -aG video $USER, and log in again")
    case ENOENT where self.call == .open, ENODEV where self.call == .open, ENXIO where self.call == .open,
      ENOTDIR where self.call == .open:
      return VidiconError(
        .notFound, subject: source, cause: "there is no camera at \(path)",
        nextStep: "plug it in, or see what there is with: vidicon devices")
    case ENODEV, ENXIO, EBADF:
      return VidiconError(
        .failed, subject: source, cause: "the camera was unplugged", nextStep: "plug it in again")
    case ENOTTY where self.call == .query, EINVAL where self.call == .query, EISDIR where self.call == .open:
      return VidiconError(
        .notFound, subject: source, cause: "\(path) is no camera",
        nextStep: "see what there is with: vidicon devices")
    case ENOSPC:
      return VidiconError(
        .failed, subject: source, cause: "its connection cannot carry such pictures beside those of other devices",
        nextStep: "choose a smaller size or another format with ?size= and ?format=, or plug it in elsewhere")
    default:
      return VidiconError(
        .failed, subject: source, cause: "\(self.call.rawValue) (\(systemErrorMessage(self.number)))",
        nextStep: "unplug it and plug it in again, or choose another format")
    }
  }
}
