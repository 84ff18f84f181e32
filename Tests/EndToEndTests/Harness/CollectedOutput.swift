import Foundation
import Synchronization

/// Everything a process writes to one pipe, with the arrival time of each read.
final class CollectedOutput: Sendable {
  /// One read from the pipe.
  struct Arrival {
    /// Number of bytes received up to and including this read.
    var endOffset: Int
    /// Wall-clock time, microseconds since 1970.
    var unixMicroseconds: Int64
  }

  private struct State {
    var bytes: [UInt8] = []
    var arrivals: [Arrival] = []
  }

  private let state = Mutex(State())
  private let ended: Task<Void, Never>

  /// Each read as it arrives, for one consumer.
  let pieces: AsyncStream<[UInt8]>

  /// Reads a pipe to its end on a dedicated thread.
  init(_ handle: FileHandle) {
    let (pieces, piecesContinuation) = AsyncStream.makeStream(of: [UInt8].self)
    let (end, endContinuation) = AsyncStream.makeStream(of: Void.self)
    self.pieces = pieces
    // Safe because the harness ends a test that hangs, and with it this process.
    self.ended = Task { for await _ in end {} }
    let thread = Thread { [self] in
      var room = [UInt8](repeating: 0, count: 1 << 18)
      while true {
        // Safe because the harness ends a test that hangs, and with it this process.
        let count = read(handle.fileDescriptor, &room, room.count)
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { break }
        let piece = Array(room[..<count])
        self.state.withLock { state in
          state.bytes += piece
          state.arrivals.append(Arrival(endOffset: state.bytes.count, unixMicroseconds: unixMicroseconds()))
        }
        piecesContinuation.yield(piece)
      }
      try? handle.close()  // Closing a read end loses no data.
      piecesContinuation.finish()
      endContinuation.finish()
    }
    thread.start()
  }

  /// Bytes received so far.
  var bytes: [UInt8] { self.state.withLock { $0.bytes } }

  /// Text received so far.
  var text: String { String(decoding: self.bytes, as: UTF8.self) }

  /// Reads so far.
  var arrivals: [Arrival] { self.state.withLock { $0.arrivals } }

  /// Waits for the end of the output.
  func end() async {
    await self.ended.value
  }
}

/// Wall-clock time, microseconds since 1970.
func unixMicroseconds() -> Int64 {
  var time = timespec()
  clock_gettime(CLOCK_REALTIME, &time)
  return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
}
