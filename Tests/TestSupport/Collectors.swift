internal import Capture
package import Media
package import Threading

/// A consumer that keeps frames, with waits for a number of them.
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
  ///   - keep: Maximum number of frames to keep; later ones are only counted.
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

  /// Waits until `count` frames have arrived, or for a timeout, and returns the kept ones.
  package func frames(_ count: Int, within seconds: Int64 = 300) -> [VideoFrame] {
    _ = self.state.wait(until: StreamClock.system.now() + .seconds(seconds)) { $0.arrivals.count >= count ? true : nil }
    return self.state.read { $0.frames }
  }

  /// Waits for the first reported end: an error, `.some(nil)` for the end of the input, nil on timeout.
  package func end(within seconds: Int64 = 300) -> VidiconError?? {
    self.state.wait(until: StreamClock.system.now() + .seconds(seconds)) { $0.ends.first }
  }
}

/// A consumer that keeps audio blocks, with waits for a number of samples.
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

  /// Waits until `count` samples of each channel have arrived, or for a timeout, and returns the blocks.
  package func blocks(samples count: Int, within seconds: Int64 = 300) -> [AudioBlock] {
    _ = self.state.wait(until: StreamClock.system.now() + .seconds(seconds)) { state in
      state.blocks.reduce(0) { $0 + $1.sampleCount } >= count ? true : nil
    }
    return self.state.read { $0.blocks }
  }

  /// Waits for the first reported end; nil on timeout.
  package func end(within seconds: Int64 = 300) -> VidiconError?? {
    self.state.wait(until: StreamClock.system.now() + .seconds(seconds)) { $0.ends.first }
  }
}

/// The bytes of a plane without the padding of its rows.
package func pixels(_ frame: VideoFrame, plane: Int = 0) -> [UInt8] {
  let format = frame.format
  let width = format.pixelFormat.minimumBytesPerRow(plane: plane, width: format.width)
  let rows = format.pixelFormat.rowCount(plane: plane, height: format.height)
  return frame.withPlane(plane) { bytes in
    (0..<rows).flatMap { bytes[($0 * format.bytesPerRow[plane])...].prefix(width) }
  }
}
