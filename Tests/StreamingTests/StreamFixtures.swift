import Capture
import Media
import NIOCore
import TestSupport
import Testing
import Threading

@testable import Streaming

extension LiveStream {
  /// Waits for a condition; stops the stream on a timeout, so that no other wait hangs.
  func eventually(_ condition: () -> Bool) async throws {
    do {
      try await TestSupport.eventually { condition() }
    } catch {
      await self.stop()
      throw error
    }
  }
}

/// Capturer that delivers frames of a test, and records the calls it receives.
final class ScriptedVideoCapturer: VideoCapturer {
  private struct State {
    var consumer: (any VideoConsumer)?
    var isStarted = false
    var drops: [FrameDrop] = []
    var starts = 0
    var stops = 0
    var keyframeRequests = 0
    var isHeld: Bool
    var lentFrames = 0
  }

  let format: VideoFormat
  let position: CameraPosition
  let sampleOrientation: Orientation
  private let failure: VidiconError?
  private let pool: VideoFramePool
  private let state: Monitor<State>

  /// - Parameters:
  ///   - failure: Error thrown by `start`.
  ///   - isHeld: Whether `start` blocks until ``release()``.
  init(
    format: VideoFormat = VideoFormat(width: 64, height: 48), position: CameraPosition = .unspecified,
    sampleOrientation: Orientation = .up, failure: VidiconError? = nil, isHeld: Bool = false
  ) {
    self.format = format
    self.position = position
    self.sampleOrientation = sampleOrientation
    self.failure = failure
    self.pool = VideoFramePool(format: format, capacity: 64)
    self.state = Monitor(State(isHeld: isHeld))
  }

  var isStarted: Bool { self.state.withLock { $0.isStarted } }

  func start(consumer: any VideoConsumer) throws(VidiconError) {
    self.state.withLock { $0.starts += 1 }
    self.state.wait { $0.isHeld ? nil : () }
    if let failure { throw failure }
    self.state.withLock {
      $0.consumer = consumer
      $0.isStarted = true
    }
  }

  /// Unblocks `start`.
  func release() {
    self.state.withLock { $0.isHeld = false }
  }

  /// The consumer, kept so that a test can deliver after the end.
  func stop() {
    self.state.withLock {
      $0.stops += 1
      $0.isStarted = false
    }
  }

  func didDrop(_ drop: FrameDrop) {
    self.state.withLock { $0.drops.append(drop) }
  }

  func requestKeyframe() {
    self.state.withLock { $0.keyframeRequests += 1 }
  }

  /// Number of keyframe requests.
  var keyframeRequests: Int { self.state.withLock { $0.keyframeRequests } }

  /// Delivers a gray frame.
  func deliver(
    at time: MediaTime, format: VideoFormat? = nil, orientation: Orientation = .up, luma: UInt8 = 128
  ) {
    let pool = format.map { VideoFramePool(format: $0) } ?? self.pool
    var frame = pool.frame(at: time) { buffer in
      for plane in 0..<buffer.format.pixelFormat.planeCount {
        buffer.unsafePlane(plane).initializeMemory(as: UInt8.self, repeating: plane == 0 ? luma : 128)
      }
    }
    frame?.orientation = orientation
    // The pool holds more frames than are ever in use.
    self.state.withLock { $0.consumer }?.consume(frame!)
  }

  /// Delivers a given frame.
  func deliver(_ frame: VideoFrame) {
    self.state.withLock { $0.consumer }?.consume(frame)
  }

  /// Delivers a gray frame in memory that must be released, as a device's.
  func lend(at time: MediaTime, luma: UInt8 = 128) {
    let sizes = (0..<self.format.pixelFormat.planeCount).map { self.format.byteCount(plane: $0) }
    // Safe because the memory is freed with its last reference, and written only here.
    nonisolated(unsafe) let planes = sizes.enumerated().map { plane, size in
      let memory = UnsafeMutableRawPointer.allocate(byteCount: size + 64, alignment: 64)
      memory.initializeMemory(as: UInt8.self, repeating: plane == 0 ? luma : 128, count: size + 64)
      return memory
    }
    self.state.withLock { $0.lentFrames += 1 }
    let buffer = PixelBuffer(borrowing: planes, format: self.format) {
      for plane in planes { plane.deallocate() }
      self.state.withLock { $0.lentFrames -= 1 }
    }
    self.state.withLock { $0.consumer }?.consume(VideoFrame(buffer: buffer, timestamp: time))
  }

  /// Number of frames in device memory that are not released.
  var lentFrames: Int { self.state.withLock { $0.lentFrames } }

  /// Delivers a compressed frame.
  func deliver(_ sample: EncodedSample, of description: CodecDescription) {
    self.state.withLock { $0.consumer }?.consume(sample, of: description)
  }

  /// Reports a frame dropped for lack of memory.
  func skip(at time: MediaTime) {
    self.state.withLock { $0.consumer }?.captureSkipped(at: time)
  }

  func end(_ error: VidiconError?) {
    self.state.withLock { $0.consumer }?.captureEnded(error)
  }

  /// Reports that decoding cannot start yet.
  func wait(_ reason: VidiconError) {
    self.state.withLock { $0.consumer }?.captureWaits(reason)
  }

  /// Announces frames of another format.
  func announce(_ format: VideoFormat) {
    self.state.withLock { $0.consumer }?.captureFormatChanged(to: format)
  }

  var starts: Int { self.state.withLock { $0.starts } }
  var stops: Int { self.state.withLock { $0.stops } }
  var drops: [FrameDrop] { self.state.withLock { $0.drops } }
}

/// Audio capturer that delivers blocks of a test.
final class ScriptedAudioCapturer: AudioCapturer {
  private struct State {
    var consumer: (any AudioConsumer)?
    var starts = 0
    var stops = 0
    var drops: [FrameDrop] = []
    var isHeld: Bool
  }

  let format: AudioFormat
  private let failure: VidiconError?
  private let state: Monitor<State>

  /// - Parameters:
  ///   - failure: Error thrown by `start`.
  ///   - isHeld: Whether `start` blocks until ``release()``.
  init(
    format: AudioFormat = AudioFormat(sampleRate: 48_000, channelCount: 1), failure: VidiconError? = nil,
    isHeld: Bool = false
  ) {
    self.format = format
    self.failure = failure
    self.state = Monitor(State(isHeld: isHeld))
  }

  var isStarted: Bool { self.state.withLock { $0.consumer != nil } }

  func start(consumer: any AudioConsumer) throws(VidiconError) {
    self.state.withLock { $0.starts += 1 }
    self.state.wait { $0.isHeld ? nil : () }
    if let failure { throw failure }
    self.state.withLock { $0.consumer = consumer }
  }

  /// Unblocks `start`.
  func release() {
    self.state.withLock { $0.isHeld = false }
  }

  func stop() {
    self.state.withLock { $0.stops += 1 }
  }

  func didDrop(_ drop: FrameDrop) {
    self.state.withLock { $0.drops.append(drop) }
  }

  /// Delivers a square wave.
  func deliver(at time: MediaTime, samples: Int, amplitude: Float = 0.5) {
    let block = AudioBlock(
      format: self.format, timestamp: time,
      samples: (0..<samples * self.format.channelCount).map { $0 / 50 % 2 == 0 ? amplitude : -amplitude })
    self.state.withLock { $0.consumer }?.consume(block)
  }

  /// Delivers a given block.
  func deliver(_ block: AudioBlock) {
    self.state.withLock { $0.consumer }?.consume(block)
  }

  func end(_ error: VidiconError?) {
    self.state.withLock { $0.consumer }?.captureEnded(error)
  }

  var starts: Int { self.state.withLock { $0.starts } }
  var stops: Int { self.state.withLock { $0.stops } }
  var drops: [FrameDrop] { self.state.withLock { $0.drops } }
}

/// Output that records its samples, with waits for them.
final class CollectingOutput: StreamOutput {
  fileprivate struct State: Sendable {
    var samples: [EncodedSample] = []
    /// The number of samples before each format change.
    var changes: [(count: Int, description: CodecDescription)] = []
    var hasEnded = false
  }

  private let state = Monitor(State())

  func consume(_ sample: EncodedSample) {
    self.state.withLock { $0.samples.append(sample) }
  }

  func descriptionChanged(to description: CodecDescription) {
    self.state.withLock { state in
      if state.changes.last?.description != description { state.changes.append((state.samples.count, description)) }
    }
  }

  var changes: [(count: Int, description: CodecDescription)] { self.state.withLock { $0.changes } }

  func streamEnded() {
    self.state.withLock { $0.hasEnded = true }
  }

  var samples: [EncodedSample] { self.state.withLock { $0.samples } }
  var hasEnded: Bool { self.state.withLock { $0.hasEnded } }
  /// A time shortly after the last sample's, for the first frame of another source: a time further ahead may be moved, as that of a
  /// source of lower latency.
  var next: MediaTime {
    (self.state.withLock { $0.samples.last?.presentationTime } ?? StreamClock.system.now()) + .milliseconds(2)
  }

  /// The first sample that meets a condition; nil on timeout.
  func first(where condition: (EncodedSample) -> Bool) -> EncodedSample? {
    self.wait { $0.samples.first(where: condition) }
  }

  /// The samples, once there are `count`, which are expected.
  func samples(atLeast count: Int) -> [EncodedSample] {
    if let samples = self.wait(for: { $0.samples.count >= count ? $0.samples : nil }) { return samples }
    let samples = self.samples
    Issue.record("\(samples.count) of \(count) samples")
    return samples
  }

  /// Waits for the stream's threads. Blocks a thread of tasks: no task is to be waited for in this way.
  private func wait<Result>(for body: (State) -> Result?) -> Result? {
    self.state.wait(until: StreamClock.system.now() + .seconds(300), for: body)
  }
}
