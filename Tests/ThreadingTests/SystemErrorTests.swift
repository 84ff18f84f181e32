import Testing
import Threading

@Suite("Error texts of the system")
struct SystemErrorTests {
  @Test func `an error number has the system's text`() {
    #expect(systemErrorMessage(2) == "No such file or directory")
  }
}
