internal import Libc
internal import Media
internal import Threading

/// A failed system call on a video device.
struct V4L2Failure: Error, Hashable {
  /// The purpose of the call; the raw value is part of the message to the user.
  enum Call: String, Hashable {
    case open = "it cannot be opened"
    case query = "it does not report its capabilities"
    case input = "the input cannot be selected"
    case format = "the format cannot be set"
    case buffers = "it provides no frame buffers"
    case map = "its frame buffers cannot be mapped"
    case start = "streaming cannot be started"
    case capture = "it delivers no more frames"
    case damaged = "every frame of it is damaged"
    case incomplete = "every frame of it is cut off"
    case missing = "it announces frames that it does not deliver"
    case control = "the control cannot be set"
  }

  /// The purpose of the call.
  let call: Call
  /// The error number (`errno`).
  let number: Int32
  /// Kind of the device when it is not a camera, such as "a codec or scaler".
  var kind: String? = nil

  /// Whether another program uses the device.
  var isBusy: Bool {
    self.number == EBUSY
  }

  /// Whether the device was disconnected.
  var isGone: Bool {
    self.number == ENODEV || self.number == ENXIO || self.number == ENOENT || self.number == EBADF
  }

  /// Converts the failure to an error for the user.
  ///
  /// - Parameters:
  ///   - source: The camera as the user specified it.
  ///   - path: The device node; the processes that hold it are named.
  func vidiconError(source: String, path: String) -> VidiconError {
    if let kind = self.kind {
      return VidiconError(
        .notFound, subject: source, cause: "\(path) is not a camera but \(kind)",
        nextStep: "list the cameras with: vidicon devices")
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
        nextStep: CurrentUser.nextStep(joining: "video"))
    case ENOENT where self.call == .open, ENODEV where self.call == .open, ENXIO where self.call == .open,
      ENOTDIR where self.call == .open:
      return VidiconError(
        .notFound, subject: source, cause: "there is no camera at \(path)",
        nextStep: "plug it in, or list the cameras with: vidicon devices")
    case ENODEV, ENXIO, EBADF:
      return VidiconError(
        .failed, subject: source, cause: "the camera was unplugged", nextStep: "plug it in again")
    case ENOTTY where self.call == .query, EINVAL where self.call == .query, EISDIR where self.call == .open:
      return VidiconError(
        .notFound, subject: source, cause: "\(path) is not a camera",
        nextStep: "list the cameras with: vidicon devices")
    case ENOSPC:
      return VidiconError(
        .failed, subject: source, cause: "the bandwidth of its connection, shared with other devices, is too low",
        nextStep: "choose a smaller size or another format with ?size= and ?format=, or use another port")
    case _ where [.damaged, .incomplete, .missing].contains(self.call):
      return VidiconError(
        .failed, subject: source, cause: self.call.rawValue,
        nextStep: "use another cable or USB port, or choose a smaller size or another format with ?size= and ?format=")
    default:
      return VidiconError(
        .failed, subject: source, cause: "\(self.call.rawValue) (\(systemErrorMessage(self.number)))",
        nextStep: "unplug it and plug it in again, or choose another format")
    }
  }
}
