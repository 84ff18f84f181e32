import Media
import Testing

@Suite("Errors for users")
struct VidiconErrorTests {
  @Test func `the description is one line with subject, cause and next step`() {
    let error = VidiconError(
      .busy, subject: "camera /dev/video0", cause: "in use by obs (pid 4711)", nextStep: "close it or choose another")
    #expect(error.description == "camera /dev/video0: in use by obs (pid 4711); close it or choose another")
  }

  @Test func `the code survives as text`() {
    for code in VidiconError.Code.allCases {
      #expect(VidiconError.Code(rawValue: code.rawValue) == code)
    }
  }

  @Test func `a long path is shown by its ends, on one line`() {
    let path = "/media/" + String(repeating: "a", count: 300) + "/clip\n1.mp4"
    let subject = VidiconError(.noSpace, path: path, cause: "the disk is full", nextStep: "free space").subject
    #expect(subject.count == 141)
    #expect(subject.hasPrefix("/media/aaa") && subject.hasSuffix("aaa/clip 1.mp4"))
    #expect(subject.contains("…") && !subject.contains(where: \.isNewline))
    let short = "/media/" + String(repeating: "a", count: 153)
    #expect(VidiconError(.noSpace, path: short, cause: "", nextStep: "").subject == short)
  }

  @Test func `of a subject that is an address, the password is left out`() {
    let error = VidiconError(
      .notPermitted, subject: "rtsp://anna:sesame@camera/live", cause: "the password is wrong", nextStep: "correct it")
    #expect(error.description == "rtsp://…@camera/live: the password is wrong; correct it")
    let plain = VidiconError(.notFound, subject: "stream hello:1", cause: "there is none", nextStep: "start one")
    #expect(plain.subject == "stream hello:1")
  }

  @Test func `the error of a refused thread names what needs it`() {
    let error = VidiconError.noThread("snapshot")
    #expect(error.code == .failed && error.description.hasPrefix("snapshot: no thread can be started; "))
  }
}
