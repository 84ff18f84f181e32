import Foundation
import Synchronization

/// What a program prints on one of its outputs, and when each piece came.
final class CollectedOutput: Sendable {
  /// A piece of output.
  struct Arrival {
    /// The bytes that had come with it, from the first one on.
    var endOffset: Int
    /// The time of day, microseconds since 1970.
    var unixMicroseconds: Int64
  }

  private struct State {
    var bytes: [UInt8] = []
    var arrivals: [Arrival] = []
  }

  private let state = Mutex(State())
  private let ended: Task<Void, Never>

  /// The output as it comes, for one reader.
  let pieces: AsyncStream<[UInt8]>

  /// Reads a pipe to its end, on a thread of its own.
  init(_ handle: FileHandle) {
    let (pieces, piecesContinuation) = AsyncStream.makeStream(of: [UInt8].self)
    let (end, endContinuation) = AsyncStream.makeStream(of: Void.self)
    self.pieces = pieces
    self.ended = Task { for await _ in end {} }
    let thread = Thread { [self] in
      var room = [UInt8](repeating: 0, count: 1 << 18)
      while true {
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
      try? handle.close()  // Nobody reads it any more, whether it closes or not.
      piecesContinuation.finish()
      endContinuation.finish()
    }
    thread.start()
  }

  /// Everything so far.
  var bytes: [UInt8] { self.state.withLock { $0.bytes } }

  /// Everything so far as text.
  var text: String { String(decoding: self.bytes, as: UTF8.self) }

  /// The pieces so far.
  var arrivals: [Arrival] { self.state.withLock { $0.arrivals } }

  /// Waits until the program has closed this output.
  func end() async {
    await self.ended.value
  }
}

/// The time of day, microseconds since 1970.
func unixMicroseconds() -> Int64 {
  var time = timespec()
  clock_gettime(CLOCK_REALTIME, &time)
  return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
}
