import Media
import NIOCore
import Testing

@testable import RTMP

@Suite("Samples as messages")
struct PacketizerTests {
  private static func outputs(_ messages: [RTMPMessage]) throws(ParsingError) -> (
    descriptions: [CodecDescription], samples: [EncodedSample]
  ) {
    var depacketizer = RTMPDepacketizer()
    var (descriptions, samples): ([CodecDescription], [EncodedSample]) = ([], [])
    for message in messages {
      for output in try depacketizer.depacketize(message) {
        switch output {
        case .description(let description): descriptions.append(description)
        case .sample(let sample): samples.append(sample)
        case .unsupportedAudio, .missingKeyframe: Issue.record("\(output)")
        }
      }
    }
    return (descriptions, samples)
  }

  @Test func `descriptions and samples survive`() throws {
    let (descriptions, samples) = try Self.outputs(TestStream.messages())
    #expect(descriptions == [TestStream.h264, TestStream.aac])
    #expect(samples.count == 60)
    #expect(samples[0].isKeyframe && samples[0].payload.readableBytes == 70_004)
    #expect(samples.filter { $0.kind == .video }.count { $0.isKeyframe } == 1)
    #expect(samples[1].duration == .ticks(1024, timescale: 48_000))
  }

  @Test func `the bytes of a keyframe, of a frame that is shown later, and of audio`() throws {
    let packetizer = RTMPPacketizer([], epoch: .zero)
    let keyframe = try #require(packetizer.packetize(TestStream.video(at: .zero, size: 2, isKeyframe: true)))
    #expect(keyframe == RTMPMessage(type: .video, streamID: 1, payload: bytes("17 01 000000 00000002 6555")))
    let time = MediaTime(nanoseconds: 100_000_000)
    let later = try #require(packetizer.packetize(TestStream.video(at: time, size: 1, decodeTime: .zero)))
    #expect(later.payload == bytes("27 01 000064 00000001 41"))
    let audio = try #require(packetizer.packetize(TestStream.audio(at: time)))
    #expect(audio.timestamp == 100 && audio.payload.readableBytesView.prefix(3).elementsEqual([0xAF, 1, 0x21]))
  }

  @Test func `frames of 33.3 ms do not drift in a day, and times wrap after 49.7 days`() {
    let packetizer = RTMPPacketizer([], epoch: MediaTime(nanoseconds: 7))
    for frame in stride(from: Int64(0), to: 30 * 3600 * 24, by: 1001) {
      let time = MediaTime(nanoseconds: 7) + .ticks(frame, timescale: 30)
      #expect(abs(Int64(packetizer.timestamp(at: time)) - frame * 1000 / 30) <= 1)
    }
    #expect(packetizer.timestamp(at: .zero + .seconds(4_294_968)) == 703)
  }

  @Test func `times that wrap or run backwards stay in order`() throws {
    var depacketizer = RTMPDepacketizer()
    var times: [Int64] = []
    let start = TestStream.messages()
    for message in start.prefix(4) { _ = try depacketizer.depacketize(message) }
    for timestamp: UInt32 in [0xFFFF_FF00, 0xFFFF_FFFF, 5, 0xFFFF_FFF0, 10] {
      var message = start[5]
      message.timestamp = timestamp
      for case .sample(let sample) in try depacketizer.depacketize(message) {
        times.append(sample.decodeTime.ticks(timescale: 1000))
      }
    }
    #expect(times.map { $0 - times[0] } == [0, 255, 261, 240, 266])
  }

  @Test func `samples before their configuration and before a keyframe are dropped and counted`() throws {
    var depacketizer = RTMPDepacketizer()
    let messages = TestStream.messages()
    // Metadata, H.264, AAC, keyframe, audio, frame …
    #expect(try depacketizer.depacketize(messages[4]).isEmpty)
    #expect(try depacketizer.depacketize(messages[3]).isEmpty)
    #expect(try depacketizer.depacketize(messages[1]).count == 1)
    #expect(try depacketizer.depacketize(messages[5]).isEmpty)
    #expect(depacketizer.droppedSampleCount == 3)
    #expect(try depacketizer.depacketize(messages[3]).count == 1)
    #expect(try depacketizer.depacketize(messages[1]).isEmpty, "the same configuration again is no change")
  }

  @Test func `parameter sets within an access unit are a new description`() throws {
    var depacketizer = RTMPDepacketizer()
    var payload = bytes("17 01 000000")
    for unit in [TestStream.sequenceParameterSet, TestStream.pictureParameterSet, [0x65, 1]] {
      payload.writeInteger(UInt32(unit.count))
      payload.writeBytes(unit)
    }
    let outputs = try depacketizer.depacketize(RTMPMessage(type: .video, payload: payload))
    guard outputs.count == 2, case .description(let description) = outputs[0], case .sample(let sample) = outputs[1]
    else { throw ParsingError(.missing, field: "outputs") }
    #expect(description == TestStream.h264 && sample.payload == bytes("00000002 6501"))
  }

  @Test(arguments: [
    ("1C 00 000000", RTMPMessageType.video, "video codec HEVC"), ("90 68766331", .video, "video codec HEVC"),
    ("91 61763031", .video, "video codec AV1"), ("22", .video, "video codec Sorenson H.263"),
    ("90 21000A20", .video, "video codec !?? "),
  ])
  func `other codecs are refused by name`(payload: String, type: RTMPMessageType, name: String) {
    var depacketizer = RTMPDepacketizer()
    let found = error { () throws(ParsingError) in
      _ = try depacketizer.depacketize(RTMPMessage(type: type, payload: bytes(payload)))
    }
    #expect(found?.field == name)
    #expect(found.map(RTMPDepacketizer.isFatal) == true)
  }

  @Test(arguments: [("2F", "audio codec MP3"), ("90 4F707573", "audio codec Opus"), ("D0", "audio codec Opus")])
  func `other codecs of audio are named once, and the video is taken`(payload: String, name: String) throws {
    var depacketizer = RTMPDepacketizer()
    var names: [String] = []
    for _ in 0..<3 {
      for output in try depacketizer.depacketize(RTMPMessage(type: .audio, payload: bytes(payload))) {
        if case .unsupportedAudio(let found) = output { names.append(found) }
      }
    }
    #expect(names == [name] && depacketizer.droppedSampleCount == 3)
  }

  @Test(arguments: ["AF00 F9480000", "AF00 11C0"])
  func `a configuration of AAC that is not supported is named once, and the video is taken`(payload: String) throws {
    var depacketizer = RTMPDepacketizer()
    var names: [String] = []
    for payload in [payload, "AF01 2100", payload] {
      for output in try depacketizer.depacketize(RTMPMessage(type: .audio, payload: bytes(payload))) {
        if case .unsupportedAudio(let found) = output { names.append(found) }
      }
    }
    #expect(names.count == 1 && depacketizer.droppedSampleCount == 3)
  }

  @Test func `a sample beyond 16 MiB has no message`() {
    let packetizer = RTMPPacketizer([], epoch: .zero)
    #expect(packetizer.packetize(TestStream.video(at: .zero, size: 0xFF_FFF6)) != nil)
    #expect(packetizer.packetize(TestStream.video(at: .zero, size: 0xFF_FFF7)) == nil)
  }
}
