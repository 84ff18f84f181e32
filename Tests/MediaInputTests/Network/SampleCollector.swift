import Capture
import Media
import Threading

/// Collects the samples of a source, compressed or not, with waits for a condition.
final class SampleCollector: VideoConsumer {
  struct State {
    var samples: [EncodedSample] = []
    var arrivals: [MediaTime] = []
    var descriptions: [CodecDescription] = []
    var frames: [VideoFrame] = []
    var frameCount = 0
    /// Time of each frame, and the luma of its first pixel.
    var shown: [(time: MediaTime, luma: UInt8)] = []
    /// Time of the last frame.
    var lastTime: MediaTime?
    var formats: [VideoFormat] = []
    var ends: [VidiconError?] = []
    /// Number of samples before each end.
    var countsAtEnds: [Int] = []
    var waits: [VidiconError] = []
  }

  let state = Monitor(State())

  func consume(_ sample: EncodedSample, of description: CodecDescription) {
    self.state.withLock { state in
      state.samples.append(sample)
      state.arrivals.append(StreamClock.system.now())
      if state.descriptions.last != description { state.descriptions.append(description) }
    }
  }

  func consume(_ frame: VideoFrame) {
    let luma = frame.withPlane(0) { $0.first ?? 0 }
    self.state.withLock { state in
      state.frameCount += 1
      state.shown.append((frame.timestamp, luma))
      state.lastTime = frame.timestamp
      if state.frames.count < 5 { state.frames.append(frame) }
    }
  }

  func captureFormatChanged(to format: VideoFormat) {
    self.state.withLock { $0.formats.append(format) }
  }

  func captureWaits(_ reason: VidiconError) {
    self.state.withLock { $0.waits.append(reason) }
  }

  func captureEnded(_ error: VidiconError?) {
    self.state.withLock { state in
      state.ends.append(error)
      state.countsAtEnds.append(state.samples.count)
    }
  }

  /// The collected state once a condition holds, or after a timeout.
  func wait(within seconds: Int64 = 300, until condition: (State) -> Bool) -> State {
    let limit = StreamClock.system.now() + .seconds(seconds)
    return self.state.wait(until: limit) { condition($0) ? $0 : nil } ?? self.state.withLock { $0 }
  }
}
