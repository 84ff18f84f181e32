internal import CLibav
internal import Codecs
internal import Media
internal import Threading

/// Decodes the JPEG pictures of a camera on a thread of its own, so that the device's buffers go back at once.
///
/// One picture waits at most; when the next one comes before it was begun, it is left out. Pictures that are damaged are
/// left out too. Both are told of as skipped.
final class CameraJPEGDecoder: Sendable {
  private struct Waiting {
    /// The picture's bytes, with ``padding`` zeros behind them.
    var bytes: [UInt8]
    var time: MediaTime
  }

  private struct State {
    var waiting: Waiting?
    /// Memory to use again.
    var spare: [UInt8] = []
    var isStopped = false
  }

  /// Bytes that libavcodec may read past the end.
  private static let padding = Int(AV_INPUT_BUFFER_PADDING_SIZE)

  private let state: Monitor<State>
  private let output: CameraOutput
  private let thread: WorkerThread

  /// Starts the thread.
  ///
  /// - Throws: ``VidiconError`` when there is no decoder, or no thread is left.
  init(
    format: VideoFormat, orientation: Orientation, source: String, output: CameraOutput
  ) throws(VidiconError) {
    let state = Monitor(State())
    self.state = state
    self.output = output
    self.thread = WorkerThread(name: "camera jpeg")
    guard let pictures = JPEGDecoder(format: format, orientation: orientation) else {
      throw VidiconError(
        .invalidData, subject: source, cause: "libavcodec gives no decoder for JPEG pictures",
        nextStep: "choose another format with ?format=")
    }
    let handover = TransferBox(pictures)
    try self.thread.start { _ in
      guard var pictures = handover.take() else { return }
      while let waiting = Self.next(state) {
        switch pictures.decode(waiting.bytes, count: waiting.bytes.count - Self.padding, at: waiting.time) {
        case .frame(let frame): output.consume(frame)
        case .newFormat(let frame):
          output.announce(frame.format)
          output.consume(frame)
        case nil: output.skip(at: waiting.time)
        }
        state.withLock { $0.spare = waiting.bytes }
      }
    }
  }

  /// Has a picture decoded; returns at once.
  ///
  /// - Parameter bytes: They are copied.
  func decode(_ bytes: UnsafeRawBufferPointer, at time: MediaTime) {
    var copy = self.state.withLock { state in
      var spare: [UInt8] = []
      swap(&spare, &state.spare)
      return spare
    }
    copy.removeAll(keepingCapacity: true)
    copy.reserveCapacity(bytes.count + Self.padding)
    copy.append(contentsOf: bytes)
    copy.append(contentsOf: repeatElement(0, count: Self.padding))
    let late = self.state.withLock { state -> Waiting? in
      defer { state.waiting = Waiting(bytes: copy, time: time) }
      return state.waiting
    }
    if let late { self.output.skip(at: late.time) }
  }

  /// Ends the thread; a picture that waits is forgotten.
  func stop() {
    self.state.withLock { $0.isStopped = true }
    self.thread.stop()
  }

  /// The picture that waits, once there is one; nil when the thread shall end.
  private static func next(_ state: Monitor<State>) -> Waiting? {
    state.take { state -> Waiting?? in
      if state.isStopped { return .some(nil) }
      return state.waiting.take().map { .some($0) }
    } ?? nil
  }
}
