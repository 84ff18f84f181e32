#if os(Linux)
import Threading
import Capture
import Media

/// Keeps the last frame of a screen, and lets a test wait for one with the expected content.
final class ScreenViewer: VideoConsumer {
  /// A frame with access to its pixels.
  struct Screenshot: Sendable {
    let frame: VideoFrame

    /// The color of a pixel as 0xRRGGBB.
    func color(_ x: Int, _ y: Int) -> UInt32 {
      self.frame.withPlane(0) { bytes in
        let pixel = bytes.loadUnaligned(
          fromByteOffset: y * self.frame.format.bytesPerRow[0] + x * 4, as: UInt32.self)
        return UInt32(littleEndian: pixel) & 0xFFFFFF
      }
    }

    /// Number of pixels in a rectangle that differ from the expected colors.
    func differences(
      x: Int = 0, y: Int = 0, width: Int? = nil, height: Int? = nil, from expected: (Int, Int) -> UInt32
    ) -> Int {
      let (width, height) = (width ?? self.frame.format.width, height ?? self.frame.format.height)
      let rowLength = self.frame.format.bytesPerRow[0]
      return self.frame.withPlane(0) { bytes in
        var count = 0
        for row in y..<(y + height) {
          for column in x..<(x + width) {
            let pixel = bytes.loadUnaligned(fromByteOffset: row * rowLength + column * 4, as: UInt32.self)
            if UInt32(littleEndian: pixel) & 0xFFFFFF != expected(column, row) { count += 1 }
          }
        }
        return count
      }
    }
  }

  struct State {
    var last: VideoFrame?
    var times: [MediaTime] = []
    var buffers: [ObjectIdentifier] = []
    var formats: [VideoFormat] = []
    var ends: [VidiconError?] = []
    var skips = 0
  }

  let state = Monitor(State())

  func consume(_ frame: VideoFrame) {
    self.state.withLock {
      $0.last = frame
      $0.times.append(frame.timestamp)
      $0.buffers.append(ObjectIdentifier(frame.buffer))
    }
  }

  func captureSkipped(at timestamp: MediaTime) {
    self.state.withLock { $0.skips += 1 }
  }

  func captureFormatChanged(to format: VideoFormat) {
    self.state.withLock { $0.formats.append(format) }
  }

  func captureEnded(_ error: VidiconError?) {
    self.state.withLock { $0.ends.append(error) }
  }

  /// Waits for a frame that meets a condition, beginning with the last one; nil on timeout.
  func screenshot(within seconds: Int64 = 300, where condition: (Screenshot) -> Bool = { _ in true }) -> Screenshot? {
    var seen: MediaTime?
    return self.state.wait(until: StreamClock.system.now() + .seconds(seconds)) { state -> Screenshot? in
      guard let frame = state.last, frame.timestamp != seen else { return nil }
      seen = frame.timestamp
      let screenshot = Screenshot(frame: frame)
      return condition(screenshot) ? screenshot : nil
    }
  }

  /// Waits for a number of reported ends; fewer on timeout.
  func ends(_ count: Int, within seconds: Int64 = 300) -> [VidiconError?] {
    _ = self.state.wait(until: StreamClock.system.now() + .seconds(seconds)) { $0.ends.count >= count ? true : nil }
    return self.state.read { $0.ends }
  }

  /// Number of frames so far.
  var count: Int { self.state.read { $0.times.count } }

  /// Waits for a number of further frames.
  func further(_ count: Int, within seconds: Int64 = 300) -> Bool {
    let expected = self.count + count
    return self.state.wait(until: StreamClock.system.now() + .seconds(seconds)) {
      $0.times.count >= expected ? true : nil
    } ?? false
  }
}
#endif
