import Foundation
import Media
import Testing

@testable import Threading

@Suite("Wake pipe", .timeLimit(.minutes(5)))
struct WakePipeTests {
  private let wake: WakePipe
  private let pipe = Pipe()
  private var descriptor: Int32 { self.pipe.fileHandleForReading.fileDescriptor }

  init() throws {
    self.wake = try WakePipe(source: "test")
  }

  private var past: MediaTime { StreamClock.system.now() - .seconds(1) }
  private var later: MediaTime { StreamClock.system.now() + .seconds(300) }

  @Test func `a wait ends at its deadline, also without a descriptor`() {
    #expect(self.wake.wait(for: self.descriptor, until: self.past) == .timedOut)
    let deadline = StreamClock.system.now() + .milliseconds(5)
    #expect(self.wake.wait(until: deadline) == .timedOut)
    #expect(StreamClock.system.now() >= deadline)
  }

  @Test func `a descriptor that is readable, or closed at its other end, is reported`() throws {
    try self.pipe.fileHandleForWriting.write(contentsOf: Data([1]))
    #expect(self.wake.wait(for: self.descriptor, until: self.later) == .ready(events: Int16(POLLIN)))
    try self.pipe.fileHandleForWriting.close()
    #expect(self.wake.wait(for: self.descriptor, until: nil) == .ready(events: Int16(POLLIN | POLLHUP)))
  }

  @Test func `any number of wakes ends one wait, and hides no readable descriptor`() throws {
    for _ in 0..<100_000 { self.wake.wake() }
    #expect(self.wake.wait(until: self.later) == .woken)
    #expect(self.wake.wait(until: self.past) == .timedOut)
    try self.pipe.fileHandleForWriting.write(contentsOf: Data([1]))
    self.wake.wake()
    #expect(self.wake.wait(for: self.descriptor, until: self.later) == .ready(events: Int16(POLLIN)))
  }

  @Test func `stop ends the current wait and all later ones`() throws {
    let thread = WorkerThread(name: "wake test")
    try thread.start { [wake] _ in wake.stop() }
    #expect(self.wake.wait(for: self.descriptor, until: nil) == .stopped)
    thread.stop()
    #expect(self.wake.isStopped)
    self.wake.wake()
    try self.pipe.fileHandleForWriting.write(contentsOf: Data([1]))
    #expect(self.wake.wait(for: self.descriptor, until: self.past) == .stopped)
  }
}
