internal import Capture
package import Media
package import Threading

/// Keeps the frames that a capturer hands over, and lets a test wait for them.
package final class FrameCollector: VideoConsumer {
  package struct State {
    package var frames: [VideoFrame] = []
    package var arrivals: [MediaTime] = []
    package var skips: [MediaTime] = []
    package var ends: [VidiconError?] = []
  }

  package let state = Monitor(State())
  private let keep: Int
  private let onFrame: @Sendable (Int) -> Void

  /// - Parameters:
  ///   - keep: How many frames to hold on to; later ones are counted and let go.
  ///   - onFrame: Called with the number of frames so far, on the capturer's thread.
  package init(keep: Int = .max, onFrame: @escaping @Sendable (Int) -> Void = { _ in }) {
    self.keep = keep
    self.onFrame = onFrame
  }

  package func consume(_ frame: VideoFrame) {
    let count = self.state.withLock { state in
      if state.frames.count < self.keep { state.frames.append(frame) }
      state.arrivals.append(StreamClock.system.now())
      return state.arrivals.count
    }
    self.onFrame(count)
  }

  package func captureSkipped(at timestamp: MediaTime) {
    self.state.withLock { $0.skips.append(timestamp) }
  }

  package func captureEnded(_ error: VidiconError?) {
    self.state.withLock { $0.ends.append(error) }
  }

  /// The frames kept, once `count` have come; fewer when that takes longer than the limit.
  package func frames(_ count: Int, within seconds: Int64 = 20) -> [VideoFrame] {
    _ = self.state.wait(until: StreamClock.system.now() + .seconds(seconds)) { $0.arrivals.count >= count ? true : nil }
    return self.state.withLock { $0.frames }
  }

  /// How the capturer ended, once it has: an error, `.some(nil)` for the end of the input, nil when it did not end.
  package func end(within seconds: Int64 = 20) -> VidiconError?? {
    self.state.wait(until: StreamClock.system.now() + .seconds(seconds)) { $0.ends.first }
  }
}

/// Keeps the sound that a capturer hands over, and lets a test wait for it.
package final class AudioCollector: AudioConsumer {
  package struct State {
    package var blocks: [AudioBlock] = []
    package var ends: [VidiconError?] = []
  }

  package let state = Monitor(State())

  /// A collector that has received nothing.
  package init() {}

  package func consume(_ block: AudioBlock) {
    self.state.withLock { $0.blocks.append(block) }
  }

  package func captureEnded(_ error: VidiconError?) {
    self.state.withLock { $0.ends.append(error) }
  }

  /// The blocks so far, once they have `count` samples of each channel; fewer when that takes longer than the limit.
  package func blocks(samples count: Int, within seconds: Int64 = 20) -> [AudioBlock] {
    _ = self.state.wait(until: StreamClock.system.now() + .seconds(seconds)) { state in
      state.blocks.reduce(0) { $0 + $1.sampleCount } >= count ? true : nil
    }
    return self.state.withLock { $0.blocks }
  }

  /// How the capturer ended, once it has.
  package func end(within seconds: Int64 = 20) -> VidiconError?? {
    self.state.wait(until: StreamClock.system.now() + .seconds(seconds)) { $0.ends.first }
  }
}

/// The bytes of a plane without the gaps between the rows.
package func pixels(_ frame: VideoFrame, plane: Int = 0) -> [UInt8] {
  let format = frame.format
  let width = format.pixelFormat.minimumBytesPerRow(plane: plane, width: format.width)
  let rows = format.pixelFormat.rowCount(plane: plane, height: format.height)
  return frame.withPlane(plane) { bytes in
    (0..<rows).flatMap { bytes[($0 * format.bytesPerRow[plane])...].prefix(width) }
  }
}
