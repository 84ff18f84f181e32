internal import CLibav
internal import Codecs
internal import Media
internal import Synchronization
internal import Threading

/// Decodes a camera's JPEG images on a thread of its own, so that the device's buffers are released at once.
///
/// The queue holds one image; a newer image replaces it. Replaced and damaged images are reported as skipped.
final class CameraJPEGDecoder: Sendable {
  private struct Waiting {
    /// The image followed by ``padding`` zero bytes.
    var bytes: [UInt8]
    var time: MediaTime
  }

  private struct State {
    var waiting: Waiting?
    /// Memory for the next image, to avoid an allocation per frame.
    var spare: [UInt8] = []
    var isStopped = false
  }

  /// Whether the last image could not be decoded; shared with the thread.
  private final class Outcome: Sendable {
    let isFailure = Atomic(false)
  }

  /// Number of bytes that libavcodec may read past the end.
  private static let padding = Int(AV_INPUT_BUFFER_PADDING_SIZE)

  private let state: Monitor<State>
  private let failing = Outcome()
  private let output: CameraOutput
  private let thread: WorkerThread

  /// Starts the decoder's thread.
  ///
  /// - Throws: ``VidiconError`` when libavcodec has no decoder, or no thread can be started.
  init(
    format: VideoFormat, orientation: Orientation, source: String, output: CameraOutput
  ) throws(VidiconError) {
    let state = Monitor(State())
    self.state = state
    self.output = output
    self.thread = WorkerThread(name: "camera jpeg")
    guard let decoder = JPEGDecoder(format: format, orientation: orientation) else {
      throw VidiconError(
        .invalidData, subject: source, cause: "libavcodec has no decoder for JPEG",
        nextStep: "choose another format with ?format=")
    }
    let box = TransferBox(decoder)
    try self.thread.start { [failing] _ in
      guard var decoder = box.take() else { return }
      while let waiting = Self.next(state) {
        let outcome = decoder.decode(waiting.bytes, count: waiting.bytes.count - Self.padding, at: waiting.time)
        failing.isFailure.store(outcome == nil, ordering: .relaxed)
        switch outcome {
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

  /// Whether the last image could not be decoded.
  var isFailing: Bool {
    self.failing.isFailure.load(ordering: .relaxed)
  }

  /// Enqueues an image for decoding; does not block.
  ///
  /// - Parameter bytes: The image, which is copied.
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
    let replaced = self.state.withLock { state -> Waiting? in
      defer { state.waiting = Waiting(bytes: copy, time: time) }
      return state.waiting
    }
    if let replaced { self.output.skip(at: replaced.time) }
  }

  /// Ends the thread; an enqueued image is discarded.
  func stop() {
    self.state.withLock { $0.isStopped = true }
    self.thread.stop()
  }

  /// Blocks until an image is enqueued; nil when the thread must end.
  private static func next(_ state: Monitor<State>) -> Waiting? {
    state.take { state -> Waiting?? in
      if state.isStopped { return .some(nil) }
      return state.waiting.take().map { .some($0) }
    } ?? nil
  }
}
