import Foundation
import Media
import TestSupport
import Testing

@testable import VidiconCommand

@Suite("Output for programs")
struct LineWriterTests {
  /// A pipe with room for one page, and a writer into it.
  private final class SmallPipe {
    let read: Int32
    let write: Int32
    let writer: LineWriter

    init(dropReport: (@Sendable (Int) -> String?)? = nil) throws {
      var ends: [Int32] = [-1, -1]
      try #require(pipe(&ends) == 0)
      (self.read, self.write) = (ends[0], ends[1])
      #if canImport(Glibc)
      // F_SETPIPE_SZ, which Swift does not import.
      try #require(fcntl(self.write, 1031, Int32(4096)) >= 4096)
      #endif
      self.writer = LineWriter(self.write, dropReport: dropReport)
    }

    deinit {
      close(self.read)
      close(self.write)
    }

    /// Reads what has arrived, or arrives within the limit of a test; returns the number of bytes, 0 at the end.
    func receive(_ bytes: inout [UInt8]) -> Int {
      var interest = pollfd(fd: self.read, events: Int16(POLLIN), revents: 0)
      guard poll(&interest, 1, Int32(WaitLimit.seconds * 1000)) == 1 else { return 0 }
      return Foundation.read(self.read, &bytes, bytes.count)
    }

    /// Reads until `count` line feeds have arrived.
    func lines(_ count: Int) -> [Substring] {
      var bytes: [UInt8] = []
      var chunk = [UInt8](repeating: 0, count: 65_536)
      var found = 0
      while found < count {
        let length = self.receive(&chunk)
        guard length > 0 else { break }
        found += chunk[..<length].count { $0 == UInt8(ascii: "\n") }
        bytes += chunk[..<length]
      }
      return String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    }
  }

  @Test func `lines longer than a pipe do not block, and arrive whole and in order`() throws {
    let pipe = try SmallPipe()
    let lines = (0..<20).map { "\($0) " + String(repeating: "é", count: 10_000) }
    for line in lines { pipe.writer.write(line) }
    #expect(!pipe.writer.flush(within: .milliseconds(20)))
    #expect(pipe.lines(20).map(String.init) == lines)
    #expect(pipe.writer.flush(within: nil))
    #expect(pipe.writer.droppedCount == 0)
  }

  @Test func `lines beyond a megabyte are dropped whole and counted, later ones arrive again`() throws {
    let pipe = try SmallPipe()
    let length = 10_000
    let count = 1_000
    for number in 0..<count { pipe.writer.write("\(number) " + String(repeating: "x", count: length)) }
    let dropped = pipe.writer.droppedCount
    // The thread may have taken one batch.
    #expect((count - 2 * LineWriter.maximumQueuedBytes / length...count - 100).contains(dropped))
    let arrived = pipe.lines(count - dropped)
    #expect(arrived.count == count - dropped)
    #expect(arrived.allSatisfy { $0.hasSuffix(String(repeating: "x", count: length)) })
    let numbers = arrived.compactMap { Int($0.prefix { $0 != " " }) }
    #expect(numbers == numbers.sorted())
    #expect(pipe.writer.flush(within: nil))
    pipe.writer.write("last")
    #expect(pipe.lines(1) == ["last"])
    #expect(pipe.writer.droppedCount == dropped)
  }

  @Test func `a line says how many were dropped, once the reader reads again`() throws {
    let pipe = try SmallPipe(dropReport: { "\($0) dropped" })
    pipe.writer.write(String(repeating: "x", count: 100_000))
    // The thread is within that one, for which the pipe has no room.
    var first: [UInt8] = [0]
    try #require(pipe.receive(&first) == 1)
    let long = String(repeating: "y", count: LineWriter.maximumQueuedBytes / 2 - 1)
    for _ in 0..<5 { pipe.writer.write(long) }
    #expect(pipe.writer.droppedCount == 3)
    pipe.writer.flush(unlessStalledFor: .milliseconds(20))
    let lines = pipe.lines(4)
    #expect(lines.map(\.count) == [99_999, long.count, long.count, 9] && lines.last == "3 dropped")
    #expect(pipe.writer.flush(within: nil))
    pipe.writer.write("last")
    #expect(pipe.lines(1) == ["last"], "the number is said once")
    #expect(pipe.writer.droppedCount == 3)
  }

  @Test func `without a reader nothing waits`() throws {
    signal(SIGPIPE, SIG_IGN)
    var ends: [Int32] = [-1, -1]
    try #require(Foundation.pipe(&ends) == 0)
    close(ends[0])
    let writer = LineWriter(ends[1])
    writer.write("line")
    #expect(writer.flush(within: nil))
    for _ in 0..<1000 { writer.write(String(repeating: "x", count: 10_000)) }
    #expect(writer.flush(within: nil))
    writer.flush(unlessStalledFor: .milliseconds(20))
    #expect(writer.droppedCount == 0)
    close(ends[1])
  }
}
