#if os(Linux)
import Foundation
import Media
import Testing

@testable import CaptureDevices

@Suite("ALSA failures as errors for the user")
struct PCMFailureTests {
  @Test(
    arguments: [
      (EACCES, "opened", .notPermitted, "you may not use this machine's audio devices"),
      (EPERM, "opened", .notPermitted, "you may not use this machine's audio devices"),
      (ECONNREFUSED, "opened", .notFound, "the sound server does not respond"),
      (EHOSTDOWN, "opened", .notFound, "the sound server does not respond"),
      (ENODEV, "read", .failed, "the device was disconnected"),
      (ENXIO, "started", .failed, "the device was disconnected"),
      (ETIMEDOUT, "read", .failed, "it delivers no audio"),
      (EIO, "read", .failed, "the device or the sound server was disconnected"),
      (EPIPE, "read", .failed, "the device or the sound server was disconnected"),
    ] as [(Int32, String, VidiconError.Code, String)])
  func `each error number has a code and a cause`(
    number: Int32, action: String, code: VidiconError.Code, cause: String
  ) {
    let error = VidiconError(PCMFailure(number: number, action: action, name: "hw:0"), source: "mic:hw:0")
    #expect(error.code == code)
    #expect(error.cause == cause)
    #expect(error.subject == "mic:hw:0")
    #expect(!error.nextStep.isEmpty)
  }

  @Test func `other numbers name the action, ALSA's description and a command to try`() {
    let error = VidiconError(PCMFailure(number: EINVAL, action: "opened", name: "a b"), source: "mic:a b")
    #expect(error.cause == "it cannot be opened (Invalid argument)")
    #expect(error.nextStep == "try it with: arecord -D 'a b' -d 1 /dev/null")
  }

  @Test func `a negative status is thrown as a positive number, others are returned`() throws {
    let failure = #expect(throws: PCMFailure.self) { try PCMFailure.check(-EBUSY, "started", of: "hw:1") }
    #expect(failure == PCMFailure(number: EBUSY, action: "started", name: "hw:1"))
    #expect(try PCMFailure.check(5, "read", of: "hw:1") == 5)
  }

  @Test func `a missing device is distinguished from a busy one`() {
    let numbers = [ENOENT, ENODEV, ENXIO, EINVAL, EBUSY, EACCES]
    #expect(
      numbers.map { PCMFailure(number: $0, action: "opened", name: "").isMissing }
        == [true, true, true, true, false, false])
  }
}
#endif
