import Media
import Testing

@testable import Capture

@Suite("Timecode strip")
struct TimecodeStripTests {
  @Test func `the CRC is CRC-8 with polynomial 0x07, start 0`() {
    // The check value of CRC-8/SMBUS: https://reveng.sourceforge.io/crc-catalogue/1-15.htm#crc.cat.crc-8-smbus
    #expect(TimecodeStrip.checksum(of: Array("123456789".utf8)) == 0xF4)
    #expect(TimecodeStrip.checksum(of: 0 as UInt64) == 0)
    #expect(TimecodeStrip.checksum(of: 1 as UInt64) == 0x07)
  }

  @Test func `cells are an eightieth of the width, rounded down to an even number`() {
    #expect(TimecodeStrip.cellSize(width: 1280, height: 720) == 16)
    #expect(TimecodeStrip.cellSize(width: 1279, height: 720) == 14)
    #expect(TimecodeStrip.cellSize(width: 160, height: 2) == 2)
    #expect(TimecodeStrip.cellSize(width: 160, height: 1) == nil)
    #expect(TimecodeStrip.cellSize(width: 159, height: 720) == nil)
  }

  @Test func `the most significant bit is first, 16 is 0 and 235 is 1, and the CRC follows the time`() {
    // 160 pixels wide: cells of 2 × 2.
    var luma = [UInt8](repeating: 99, count: 160 * 4)
    luma.withUnsafeMutableBytes {
      TimecodeStrip.draw(microseconds: 0x8000_0000_0000_0001, into: $0, width: 160, height: 4, bytesPerRow: 160)
    }
    var bits = [UInt8](repeating: 0, count: 72)
    bits[0] = 1
    bits[63] = 1
    // CRC-8 of 80 00 00 00 00 00 00 01, by long division of the polynomials: 0xB8.
    for (index, bit) in [1, 0, 1, 1, 1, 0, 0, 0].enumerated() { bits[64 + index] = UInt8(bit) }
    let row = bits.flatMap { [UInt8](repeating: $0 == 0 ? 16 : 235, count: 2) } + [UInt8](repeating: 99, count: 16)
    #expect(Array(luma[..<160]) == row)
    #expect(Array(luma[160..<320]) == row)
    #expect(luma[320...].allSatisfy { $0 == 99 })
  }

  @Test(arguments: [(160, 90), (161, 91), (640, 360), (1280, 720), (1920, 1080)])
  func `a drawn strip is read, also with noise and in full range`(width: Int, height: Int) {
    let stride = width + 7
    for time in [1, 1_700_000_000_123_456, UInt64.max] {
      var luma = [UInt8](repeating: 128, count: stride * height)
      luma.withUnsafeMutableBytes {
        TimecodeStrip.draw(microseconds: time, into: $0, width: width, height: height, bytesPerRow: stride)
      }
      let full = luma.map { UInt8(clamping: (Int($0) - 16) * 255 / 219) }
      let noisy = luma.enumerated().map { UInt8(clamping: Int($1) + $0 * 37 % 101 - 50) }
      for plane in [luma, full, noisy] {
        #expect(read(plane, width: width, height: height, bytesPerRow: stride) == time)
      }
    }
  }

  @Test func `one wrong cell is detected, and so are black, white and too short planes`() {
    var luma = [UInt8](repeating: 128, count: 320 * 8)
    luma.withUnsafeMutableBytes {
      TimecodeStrip.draw(microseconds: 1_700_000_000_123_456, into: $0, width: 320, height: 8, bytesPerRow: 320)
    }
    for cell in 0..<72 {
      var damaged = luma
      for y in 0..<4 {
        for x in 0..<4 { damaged[y * 320 + cell * 4 + x] ^= 0xFF }
      }
      #expect(read(damaged, width: 320, height: 8, bytesPerRow: 320) == nil)
    }
    #expect(read([UInt8](repeating: 16, count: 320 * 8), width: 320, height: 8, bytesPerRow: 320) == nil)
    #expect(read([UInt8](repeating: 235, count: 320 * 8), width: 320, height: 8, bytesPerRow: 320) == nil)
    #expect(read(Array(luma.prefix(1247)), width: 320, height: 8, bytesPerRow: 320) == nil)
    #expect(read(Array(luma.prefix(1248)), width: 320, height: 8, bytesPerRow: 320) == 1_700_000_000_123_456)
    #expect(read([], width: 0, height: 0, bytesPerRow: 0) == nil)
  }

  private func read(_ luma: [UInt8], width: Int, height: Int, bytesPerRow: Int) -> UInt64? {
    luma.withUnsafeBytes { TimecodeStrip.read(from: $0, width: width, height: height, bytesPerRow: bytesPerRow) }
  }
}
