#if os(Linux)
import Media
import Synchronization
import TestSupport
import Testing
import Threading

@testable import CaptureDevices

@Suite("Access to an X server", .timeLimit(.minutes(5)))
struct X11AccessTests {
  /// The display whose TCP port is that of a server of the test.
  private func display(_ server: LocalServer) throws -> X11Display {
    try X11Display("127.0.0.1:\(server.port - 6_000)", source: "screen:")
  }

  @Test func `a rejected connection is an error with the server's reason`() throws {
    let reason = Array("Authorization required, but no authorization protocol specified\n".utf8)
    let server = try LocalServer { connection in
      connection.write([0, UInt8(reason.count), 11, 0, 0, 0, UInt8((reason.count + 3) / 4), 0])
      connection.write(reason + Array(repeating: 0, count: (4 - reason.count % 4) % 4))
      connection.waitForEnd()
    }
    let display = try self.display(server)
    let error = #expect(throws: VidiconError.self) { _ = try X11AccessProbe(display, source: "screen:") }
    #expect(error?.code == .notPermitted)
    #expect(
      error?.cause == "the X server at \(display.name) rejects the connection "
        + "(Authorization required, but no authorization protocol specified)")
    #expect(error?.nextStep.contains("XAUTHORITY") == true)
  }

  @Test(arguments: [[], [1, 0, 11], Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8)] as [[UInt8]])
  func `a server that does not speak X11 is an error`(reply: [UInt8]) throws {
    let server = try LocalServer { connection in connection.write(reply) }
    let display = try self.display(server)
    let error = #expect(throws: VidiconError.self) { _ = try X11AccessProbe(display, source: "screen:") }
    #expect(error?.code == .failed)
    #expect(error?.cause == "the X server at \(display.name) does not respond")
  }

  @Test func `an accepted connection stays open as long as the probe`() throws {
    let hasEnded = Monitor(false)
    let server = try LocalServer { connection in
      connection.write([1, 0, 11, 0, 0, 0, 0, 0])
      connection.waitForEnd()
      hasEnded.withLock { $0 = true }
    }
    do {
      let probe = try X11AccessProbe(self.display(server), source: "screen:")
      withExtendedLifetime(probe) { #expect(hasEnded.read { !$0 }) }
    }
    #expect(hasEnded.wait(until: StreamClock.system.now() + .seconds(300)) { $0 ? true : nil } == true)
  }

  @Test func `an attempt ends at its deadline or when it is abandoned, whatever the server does`() throws {
    let server = try LocalServer { connection in connection.waitForEnd() }
    let wake = try WakePipe(source: "screen:")
    let attempt = try X11ConnectionAttempt(self.display(server), wake: wake, source: "screen:")
    #expect(attempt.result(until: StreamClock.system.now() + .milliseconds(20)) == nil)
    let abandoned = try X11ConnectionAttempt(self.display(server), wake: wake, source: "screen:")
    let thread = WorkerThread(name: "abandon")
    try thread.start { _ in abandoned.abandon() }
    #expect(abandoned.result(until: nil) == nil)
    thread.join()
    server.stop()
  }

  @Test func `stop interrupts the wait and calls the closure, once set or at once`() throws {
    let cancellation = try ScreenCancellation(source: "screen:")
    let calls = Mutex<[String]>([])
    cancellation.onStop { calls.withLock { $0.append("first") } }
    cancellation.onStop { calls.withLock { $0.append("second") } }
    #expect(!cancellation.isStopped)
    cancellation.stop()
    #expect(cancellation.isStopped)
    #expect(cancellation.wake.wait(until: nil) == .stopped)
    #expect(calls.withLock { $0 } == ["second"])
    cancellation.onStop { calls.withLock { $0.append("late") } }
    cancellation.onStop(nil)
    #expect(calls.withLock { $0 } == ["second", "late"])
  }
}
#endif
