import Testing

@testable import CaptureDevices

@Suite("X11 connection setup, X Window System Protocol §8")
struct X11SetupTests {
  @Test func `the request contains the padded cookie`() {
    #expect(X11Setup.request(name: [], data: []) == [0x6C, 0, 11, 0, 0, 0, 0, 0, 0, 0, 0, 0])
    let request = X11Setup.request(name: Array("MIT-MAGIC-COOKIE-1".utf8), data: Array(1...16))
    #expect(
      request == [0x6C, 0, 11, 0, 0, 0, 18, 0, 16, 0, 0, 0] + Array("MIT-MAGIC-COOKIE-1".utf8) + [0, 0]
        + Array(1...16))
  }

  @Test func `replies are parsed, also when truncated`() {
    let reason = Array("No protocol specified\n".utf8)
    // Xvfb's reply to a client without a cookie.
    let refusal: [UInt8] = [0, UInt8(reason.count), 11, 0, 0, 0, 6, 0] + reason + [0, 0]
    #expect(X11Setup.reply(parsing: refusal) == .refused(reason: "No protocol specified"))
    #expect(X11Setup.reasonLength(head: Array(refusal.prefix(8))) == 24)
    #expect(X11Setup.reply(parsing: [1, 0, 11, 0, 0, 0, 0xFF, 0xFF]) == .accepted)
    #expect(X11Setup.reasonLength(head: [1, 0, 11, 0, 0, 0, 0xFF, 0xFF]) == 0)
    #expect(
      X11Setup.reply(parsing: [2, 0, 0, 0, 0, 0, 2, 0] + Array("more\u{1B}[1m".utf8)) == .refused(reason: "more [1m"))
    for length in 0..<8 { #expect(X11Setup.reply(parsing: Array(refusal.prefix(length))) == nil) }
    for length in 8..<refusal.count {
      guard case .refused = X11Setup.reply(parsing: Array(refusal.prefix(length))) else {
        Issue.record("\(length)")
        continue
      }
    }
    #expect(X11Setup.reply(parsing: [0, 255, 11, 0, 0, 0, 0xFF, 0xFF, 0x41]) == .refused(reason: "A"))
    #expect(X11Setup.reply(parsing: Array("HTTP/1.1 400 Bad".utf8)) == nil)
  }
}
