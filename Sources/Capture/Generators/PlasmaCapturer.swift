internal import CCapture
internal import Libc
public import Media

/// A plasma effect: flowing colors made of moving sine waves, in RGB with 3 bytes per pixel.
public final class PlasmaCapturer: GeneratedVideoCapturer {
  let generator: FrameGenerator

  /// A plasma of any size, in RGB24.
  public init(width: Int = 1280, height: Int = 720, frameRate: FrameRate = FrameRate(30)) {
    let format = VideoFormat(width: width, height: height, pixelFormat: .rgb24, frameRate: frameRate)
    self.generator = FrameGenerator(name: "plasma", format: format) {
      var plasma = Plasma(width: width, height: height)
      return { buffer, _, time in
        plasma.draw(at: time, into: buffer.unsafePlane(0), bytesPerRow: format.bytesPerRow[0])
      }
    }
  }
}

/// Draws the frames of a plasma.
///
/// A pixel's color is the sum of four waves: along x, along y and along both diagonals. Each wave is a table of a few
/// thousand entries, computed once per frame; a pixel costs three byte additions, 16 pixels at a time, and one look-up in
/// a circular palette.
struct Plasma {
  private let width: Int
  private let height: Int
  private var across: [UInt8]
  private var down: [UInt8]
  private var falling: [UInt8]
  private var rising: [UInt8]

  init(width: Int, height: Int) {
    self.width = width
    self.height = height
    self.across = Array(repeating: 0, count: width)
    self.down = Array(repeating: 0, count: height)
    self.falling = Array(repeating: 0, count: width + height)
    self.rising = Array(repeating: 0, count: width + height)
  }

  /// Draws the frame of a point in time.
  ///
  /// - Parameter pixels: `height` rows of `bytesPerRow` bytes.
  mutating func draw(at time: MediaTime, into pixels: UnsafeMutableRawBufferPointer, bytesPerRow: Int) {
    let milliseconds = time.nanoseconds / 1_000_000
    // Wavelengths are fractions of the width, so that every size shows the same image.
    Self.fill(&self.across, height: 44, waves: 1.5, over: self.width, period: 7_000, at: milliseconds)
    Self.fill(&self.down, height: 52, waves: 1.75, over: self.width, period: -5_000, at: milliseconds)
    Self.fill(&self.falling, height: 38, waves: 1.2, over: self.width, period: 9_000, at: milliseconds)
    Self.fill(&self.rising, height: 48, waves: 0.8, over: self.width, period: -6_000, at: milliseconds)
    let drift = UInt8(truncatingIfNeeded: milliseconds / 32)
    let rows = pixels.baseAddress!.assumingMemoryBound(to: UInt8.self)
    for y in 0..<self.height {
      self.falling.withUnsafeBufferPointer { falling in
        self.rising.withUnsafeBufferPointer { rising in
          vidicon_plasma_row(
            rows + y * bytesPerRow, self.across, falling.baseAddress! + y,
            rising.baseAddress! + (self.height - 1 - y), self.down[y] &+ drift, Self.palette, self.width)
        }
      }
    }
  }

  /// Computes the table of one wave.
  ///
  /// - Parameters:
  ///   - height: Amplitude, 0 to 127.
  ///   - waves: Number of wavelengths in `length` entries.
  ///   - period: Milliseconds in which the wave moves by one wavelength; negative to move backwards.
  private static func fill(
    _ table: inout [UInt8], height: Int, waves: Double, over length: Int, period: Int64, at milliseconds: Int64
  ) {
    // Phases are fractions of 2³² and wrap by overflow.
    let step = UInt32(truncatingIfNeeded: Int64(waves / Double(length) * 4_294_967_296))
    var phase = UInt32(truncatingIfNeeded: (milliseconds % period) * 4_294_967_296 / period)
    table.withUnsafeMutableBufferPointer { table in
      Self.sine.withUnsafeBufferPointer { sine in
        for index in table.indices {
          table[index] = UInt8(truncatingIfNeeded: (Int(sine[Int(phase >> 22)]) * height) >> 14)
          phase &+= step
        }
      }
    }
  }

  /// One period of the sine in 1024 steps, scaled by 2¹⁴.
  private static let sine: [Int16] = (0..<1024).map { Int16(16_384 * sin(Double($0) * .pi / 512)) }

  /// A circular palette; red in the lowest byte, then green and blue.
  private static let palette: [UInt32] = (0..<256).map { index in
    let angle = Double(index) * .pi / 128
    let parts = [angle, angle + 2, angle + 4].map { UInt32(127.5 + 127.5 * sin($0)) }
    return parts[0] | parts[1] << 8 | parts[2] << 16
  }
}
