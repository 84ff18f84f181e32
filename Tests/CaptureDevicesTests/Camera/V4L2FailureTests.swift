import Foundation
import Media
import Testing

@testable import CaptureDevices

@Suite("V4L2 failures as errors for the user")
struct V4L2FailureTests {
  private func error(_ call: V4L2Failure.Call, _ number: Int32, kind: String? = nil) -> VidiconError {
    V4L2Failure(call: call, number: number, kind: kind).vidiconError(source: "v4l2:/dev/video0", path: "/dev/video0")
  }

  @Test(
    arguments: [
      (.open, EACCES, .notPermitted, "you may not open /dev/video0"),
      (.open, EPERM, .notPermitted, "you may not open /dev/video0"),
      (.format, EBUSY, .notPermitted, "it is in use by another program"),
      (.open, ENOENT, .notFound, "there is no camera at /dev/video0"),
      (.open, ENODEV, .notFound, "there is no camera at /dev/video0"),
      (.open, ENOTDIR, .notFound, "there is no camera at /dev/video0"),
      (.capture, ENODEV, .failed, "the camera was unplugged"),
      (.start, ENXIO, .failed, "the camera was unplugged"),
      (.query, ENOTTY, .notFound, "/dev/video0 is not a camera"),
      (.open, EISDIR, .notFound, "/dev/video0 is not a camera"),
      (.start, ENOSPC, .failed, "the bandwidth of its connection, shared with other devices, is too low"),
      (.start, EIO, .failed, "streaming cannot be started (Input/output error)"),
      (.map, ENOMEM, .failed, "its frame buffers cannot be mapped (Cannot allocate memory)"),
    ] as [(V4L2Failure.Call, Int32, VidiconError.Code, String)])
  func `each error number has a code and a cause`(
    call: V4L2Failure.Call, number: Int32, code: VidiconError.Code, cause: String
  ) {
    let error = self.error(call, number)
    #expect(error.code == code)
    #expect(error.cause == cause)
    #expect(error.subject == "v4l2:/dev/video0")
    #expect(!error.nextStep.isEmpty)
  }

  @Test func `a device that is not a camera is described by its kind`() {
    let error = self.error(.query, 0, kind: "a codec or scaler")
    #expect(error.code == .notFound)
    #expect(error.cause == "/dev/video0 is not a camera but a codec or scaler")
  }

  @Test func `only a disconnected device counts as gone, and only EBUSY as busy`() {
    let numbers = [ENODEV, ENXIO, ENOENT, EBADF, EBUSY, EIO, EACCES, EINVAL]
    let failures = numbers.map { V4L2Failure(call: .capture, number: $0) }
    #expect(failures.map(\.isGone) == [true, true, true, true, false, false, false, false])
    #expect(failures.map(\.isBusy) == [false, false, false, false, true, false, false, false])
  }
}
