import Foundation
import Media

/// Reads I420 frames without padding from standard input, and writes them to standard output.
struct FrameInput {
  let width: Int
  let height: Int
  let rate: Double

  func time(of index: Int) -> MediaTime {
    MediaTime(ticks: Int64(Double(index) / self.rate * 1e9), timescale: 1_000_000_000)
  }

  private var sizes: [(columns: Int, rows: Int)] {
    let half = ((self.width + 1) / 2, (self.height + 1) / 2)
    return [(self.width, self.height), half, half]
  }

  func next() -> PixelBuffer? {
    let buffer = PixelBuffer(format: VideoFormat(width: self.width, height: self.height))
    for (plane, size) in self.sizes.enumerated() {
      for row in 0..<size.rows {
        let target = UnsafeMutableRawBufferPointer(
          rebasing: buffer.unsafePlane(plane)[(row * buffer.format.bytesPerRow[plane])...].prefix(size.columns))
        guard Self.isWhole(target.count, { read(0, target.baseAddress! + $0, target.count - $0) }) else { return nil }
      }
    }
    return buffer
  }

  func put(_ frame: PixelBuffer) {
    for (plane, size) in self.sizes.enumerated() {
      for row in 0..<size.rows {
        let source = UnsafeRawBufferPointer(
          rebasing: frame.unsafePlane(plane)[(row * frame.format.bytesPerRow[plane])...].prefix(size.columns))
        guard Self.isWhole(source.count, { write(1, source.baseAddress! + $0, source.count - $0) }) else { exit(1) }
      }
    }
  }

  private static func isWhole(_ count: Int, _ transfer: (Int) -> Int) -> Bool {
    var done = 0
    while done < count {
      let more = transfer(done)
      if more <= 0 { return false }
      done += more
    }
    return true
  }
}
