#if os(Linux)
import Threading
import Capture
import Media

/// Keeps the last frame of a screen, and lets a test wait for one that shows what it should.
final class ScreenViewer: VideoConsumer {
  /// A frame's pixels.
  struct Picture: Sendable {
    let frame: VideoFrame

    /// 0xRRGGBB of a pixel.
    func color(_ x: Int, _ y: Int) -> UInt32 {
      self.frame.withPlane(0) { bytes in
        let pixel = bytes.loadUnaligned(
          fromByteOffset: y * self.frame.format.bytesPerRow[0] + x * 4, as: UInt32.self)
        return UInt32(littleEndian: pixel) & 0xFFFFFF
      }
    }

    /// The pixels of a part that are not of the colours they should be.
    func differences(
      x: Int = 0, y: Int = 0, width: Int? = nil, height: Int? = nil, from expected: (Int, Int) -> UInt32
    ) -> Int {
      let (width, height) = (width ?? self.frame.format.width, height ?? self.frame.format.height)
      var count = 0
      for row in y..<(y + height) {
        for column in x..<(x + width) where self.color(column, row) != expected(column, row) { count += 1 }
      }
      return count
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

  /// The first frame from now on, or the last one before, that meets a condition; nil when none does in time.
  func picture(within seconds: Int64 = 10, where condition: (Picture) -> Bool = { _ in true }) -> Picture? {
    var seen: MediaTime?
    return self.state.wait(until: StreamClock.system.now() + .seconds(seconds)) { state -> Picture? in
      guard let frame = state.last, frame.timestamp != seen else { return nil }
      seen = frame.timestamp
      let picture = Picture(frame: frame)
      return condition(picture) ? picture : nil
    }
  }

  /// The errors that were told, once there are as many as given.
  func ends(_ count: Int, within seconds: Int64 = 10) -> [VidiconError?] {
    _ = self.state.wait(until: StreamClock.system.now() + .seconds(seconds)) { $0.ends.count >= count ? true : nil }
    return self.state.withLock { $0.ends }
  }

  /// How many frames have come.
  var count: Int { self.state.withLock { $0.times.count } }

  /// Waits for a number of further frames.
  func further(_ count: Int, within seconds: Int64 = 10) -> Bool {
    let wanted = self.count + count
    return self.state.wait(until: StreamClock.system.now() + .seconds(seconds)) {
      $0.times.count >= wanted ? true : nil
    } ?? false
  }
}
#endif
