import Bitstreams
import NIOCore
import Testing

@Suite("Display orientation, ITU-T H.264 §D.1.27")
struct H264DisplayOrientationTests {
  private static let slice: [UInt8] = [0x65, 0x88]

  private static func unit(_ nalUnits: [[UInt8]]) -> H264AccessUnit {
    H264AccessUnit(parsingAnnexB: ByteBuffer(bytes: nalUnits.flatMap { [0, 0, 1] + $0 }))
  }

  /// Payloads of messages, and whether frames are to be turned. Those of 3 bytes that end with 9 are by libavcodec 59 (h264_metadata):
  /// `display_orientation_repetition_period` 1, no extension.
  @Test(
    arguments: [
      ([0x08, 0x00, 0x09], true, "90°, anticlockwise"), ([0x10, 0x00, 0x09], true, "180°"),
      ([0x18, 0x00, 0x09], true, "270°"), ([0x00, 0x00, 0x09], false, "0°"),
      ([0x40, 0x00, 0x09], true, "hor_flip"), ([0x20, 0x00, 0x09], true, "ver_flip"),
      ([0x60, 0x00, 0x09], true, "both flips"), ([0x50, 0x00, 0x09], true, "hor_flip and 180°"),
      ([0x70, 0x00, 0x09], false, "both flips and 180°"), ([0x01, 0x00, 0x09], false, "11.25°"),
      ([0x1F, 0xFF, 0xE9], false, "a whole turn but 2⁻¹⁶"), ([0xC0], false, "display_orientation_cancel_flag"),
      ([0x08, 0x00], false, "two bytes of another kind of message, as of some applications"), ([], false, "nothing"),
    ] as [([UInt8], Bool, String)])
  func `a message says whether frames are turned`(payload: [UInt8], isTurned: Bool, name: String) {
    let message = [0x06, 0x2F, UInt8(payload.count)] + payload + [0x80]
    #expect(Self.unit([message, Self.slice]).isTurned == isTurned, "\(name)")
  }

  @Test func `a message is found behind others, and behind a slice`() {
    let turned: [UInt8] = [0x2F, 0x03, 0x08, 0x00, 0x09, 0x80]
    #expect(Self.unit([[0x06, 0x05, 0x02, 7, 7] + turned, Self.slice]).isTurned)
    #expect(Self.unit([[0x06, 0x05, 0x02, 7, 7, 0x80], [0x06] + turned, Self.slice]).isTurned)
    #expect(Self.unit([Self.slice, [0x06] + turned]).isTurned)
    // Emulation prevention: two zeros, and the byte 03 behind them.
    #expect(Self.unit([[0x06, 0x05, 0x03, 0, 0, 3, 1] + turned, Self.slice]).isTurned)
  }

  @Test func `other messages, slices and bytes that are cut off turn nothing`() {
    #expect(!H264AccessUnit().isTurned && !Self.unit([Self.slice]).isTurned)
    #expect(!Self.unit([[0x06, 0x06, 0x01, 0xC4, 0x80], Self.slice]).isTurned)
    #expect(!Self.unit([[0x65, 0x2F, 0x03, 0x08, 0x00, 0x09, 0x80]]).isTurned)
    let whole: [UInt8] = [0x06, 0x2F, 0x03, 0x08, 0x00, 0x09, 0x80]
    for length in 1..<5 { #expect(!Self.unit([Array(whole.prefix(length)), Self.slice]).isTurned, "\(length)") }
  }
}
