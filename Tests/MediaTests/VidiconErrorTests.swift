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
}
