import Capture
import Media
import NIOCore

@testable import Streaming

/// A capturer that delivers what a test hands it, and keeps what it is told.
final class ScriptedVideoCapturer: VideoCapturer {
  private struct State {
    var consumer: (any VideoConsumer)?
    var drops: [FrameDrop] = []
    var stops = 0
  }

  let format: VideoFormat
  private let pool: VideoFramePool
  private let state = Monitor(State())

  init(format: VideoFormat = VideoFormat(width: 64, height: 48)) {
    self.format = format
    self.pool = VideoFramePool(format: format, capacity: 64)
  }

  var isStarted: Bool { self.state.withLock { $0.consumer != nil } }

  func start(consumer: any VideoConsumer) throws(CaptureError) {
    self.state.withLock { $0.consumer = consumer }
  }

  func stop() {
    // The consumer is kept, so that a test can deliver after the end.
    self.state.withLock { $0.stops += 1 }
  }

  func didDrop(_ drop: FrameDrop) {
    self.state.withLock { $0.drops.append(drop) }
  }

  /// Delivers a grey picture.
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
    // The pool holds more pictures than are ever under way.
    self.state.withLock { $0.consumer }?.consume(frame!)
  }

  /// Reports a picture that it had no memory for.
  func skip(at time: MediaTime) {
    self.state.withLock { $0.consumer }?.captureSkipped(at: time)
  }

  func end(_ error: CaptureError?) {
    self.state.withLock { $0.consumer }?.captureEnded(error)
  }

  var stops: Int { self.state.withLock { $0.stops } }
  var drops: [FrameDrop] { self.state.withLock { $0.drops } }
}

/// A source of sound that delivers what a test hands it.
final class ScriptedAudioCapturer: AudioCapturer {
  let format: AudioFormat
  private let consumer = Monitor<(any AudioConsumer)?>(nil)

  init(format: AudioFormat = AudioFormat(sampleRate: 48_000, channelCount: 1)) {
    self.format = format
  }

  var isStarted: Bool { self.consumer.withLock { $0 != nil } }

  func start(consumer: any AudioConsumer) throws(CaptureError) {
    self.consumer.withLock { $0 = consumer }
  }

  func stop() {}

  func deliver(at time: MediaTime, samples: Int) {
    let block = AudioBlock(
      format: self.format, timestamp: time, samples: [Float](repeating: 0.5, count: samples * self.format.channelCount))
    self.consumer.withLock { $0 }?.consume(block)
  }
}

/// An output that keeps what it gets, and on which a test can wait.
final class CollectingOutput: StreamOutput {
  fileprivate struct State: Sendable {
    var samples: [EncodedSample] = []
    var hasEnded = false
  }

  private let state = Monitor(State())

  func consume(_ sample: EncodedSample) {
    self.state.withLock { $0.samples.append(sample) }
  }

  func streamEnded() {
    self.state.withLock { $0.hasEnded = true }
  }

  var samples: [EncodedSample] { self.state.withLock { $0.samples } }
  var hasEnded: Bool { self.state.withLock { $0.hasEnded } }

  /// The first sample that meets a condition; nil when none came in time.
  func first(where condition: (EncodedSample) -> Bool) -> EncodedSample? {
    self.wait { $0.samples.first(where: condition) }
  }

  /// The samples, once there are as many; fewer when they did not come in time.
  func samples(atLeast count: Int) -> [EncodedSample] {
    self.wait { $0.samples.count >= count ? $0.samples : nil } ?? self.samples
  }

  /// Waits for the stream's threads, which need none of those that tests run on.
  private func wait<Result>(for body: (inout State) -> Result?) -> Result? {
    self.state.wait(until: StreamClock.system.now() + .seconds(10), for: body)
  }
}
