import Media
import NIOCore
import Testing

@testable import RTMP

@Suite("Messages, RTMP 1.0 §5.4, §6.2 and §7.2")
struct MessageTests {
  static let controls: [(message: RTMPControlMessage, type: UInt8, payload: String)] = [
    (.setChunkSize(4096), 1, "00001000"), (.setChunkSize(0x7FFF_FFFF), 1, "7FFFFFFF"),
    (.abort(chunkStreamID: 5), 2, "00000005"), (.acknowledgement(0xFFFF_FFFF), 3, "FFFFFFFF"),
    (.windowAcknowledgementSize(2_500_000), 5, "002625A0"),
    (.setPeerBandwidth(2_500_000, limitType: 2), 6, "002625A002"),
    (.streamBegin(1), 4, "0000 00000001"), (.streamEnd(1), 4, "0001 00000001"),
    (.setBufferLength(streamID: 1, milliseconds: 3000), 4, "0003 00000001 00000BB8"),
    (.pingRequest(9), 4, "0006 00000009"), (.pingResponse(9), 4, "0007 00000009"), (.other(event: 31), 4, "001F"),
  ]

  @Test(arguments: Self.controls.indices)
  func `control messages are written and read, and each prefix is truncated`(index: Int) throws {
    let (control, type, payload) = Self.controls[index]
    #expect(control.message == RTMPMessage(type: .init(rawValue: type), payload: bytes(payload)))
    #expect(try RTMPControlMessage(parsing: control.message) == control)
    // The last byte of Set Peer Bandwidth may be absent.
    for length in 0..<min(4, control.message.payload.readableBytes) where control != .other(event: 31) || length < 2 {
      var message = control.message
      message.payload = ByteBuffer(bytes: message.payload.readableBytesView.prefix(length))
      #expect(error { () throws(ParsingError) in _ = try RTMPControlMessage(parsing: message) }?.code == .truncated)
    }
  }

  @Test func `a message of media is no control message`() throws {
    #expect(try RTMPControlMessage(parsing: RTMPMessage(type: .audio, payload: ByteBuffer())) == nil)
  }

  @Test func `a command is written and read`() throws {
    let command = RTMPCommand("createStream", transactionID: 2)
    #expect(
      command.message()
        == RTMPMessage(
          type: .commandAMF0, payload: bytes("02 000C 63726561746553747265616D 00 4000000000000000 05")))
    #expect(try RTMPCommand(parsing: command.message()) == command)
  }

  @Test func `a command in AMF 3 has a byte 0 in front, and values of both kinds`() throws {
    let payload = bytes("00 02 0004 706C6179 00 0000000000000000 11 01 11 06 09 6C697665")
    #expect(
      try RTMPCommand(parsing: RTMPMessage(type: .commandAMF3, payload: payload))
        == RTMPCommand("play", arguments: ["live"]))
  }

  @Test func `a command without a transaction is 0, one without a name is refused`() throws {
    let short = RTMPMessage(type: .commandAMF0, payload: serialized("FCUnpublish"))
    #expect(try RTMPCommand(parsing: short) == RTMPCommand("FCUnpublish", object: nil))
    for payload in [ByteBuffer(), serialized(1), serialized(.null)] {
      let found = error { () throws(ParsingError) in
        _ = try RTMPCommand(parsing: RTMPMessage(type: .commandAMF0, payload: payload))
      }
      #expect(found == ParsingError(.missing, field: "command name"))
    }
  }

  @Test func `metadata is read with and without @setDataFrame, and other data is none`() throws {
    let metadata = RTMPMetadata([TestStream.h264, TestStream.aac])
    for sets in [true, false] {
      let message = metadata.message(timestamp: 1, streamID: 1, setsDataFrame: sets)
      #expect(try RTMPMetadata(parsing: message) == metadata)
    }
    #expect(metadata.values["width"] == 1280 && metadata.values["framerate"] == 30)
    #expect(metadata.values["audiosamplerate"] == 48_000 && metadata.values["audiocodecid"] == 10)
    let cuePoint = RTMPMessage(type: .dataAMF0, payload: serialized("onCuePoint"))
    #expect(try RTMPMetadata(parsing: cuePoint) == nil)
  }
}
