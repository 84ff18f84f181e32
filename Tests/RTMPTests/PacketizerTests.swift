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
        case .unsupported, .missingKeyframe: Issue.record("\(output)")
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

  /// Bodies of video messages of other codecs, and their names.
  private static let otherVideo: [(payload: String, name: String)] = [
    ("1C 00 000000", "video codec HEVC"), ("90 68766331", "video codec HEVC"), ("91 61763031", "video codec AV1"),
    ("22", "video codec Sorenson H.263"), ("24", "video codec VP6"), ("90 21000A20", "video codec !?? "),
  ]

  /// Depacketizes messages, and describes what comes of them.
  private static func describe(_ messages: [RTMPMessage]) -> [String] {
    var depacketizer = RTMPDepacketizer()
    return messages.flatMap { message -> [String] in
      do throws(ParsingError) {
        return try depacketizer.depacketize(message).map { output in
          switch output {
          case .description(let description): "description of \(description.kind)"
          case .sample(let sample): "\(sample.kind)"
          case .unsupported(let kind, let codec): "no \(kind): \(codec)"
          case .missingKeyframe: "no keyframe"
          }
        }
      } catch {
        return ["\(RTMPDepacketizer.isFatal(error) ? "refused" : "malformed"): \(error.field)"]
      }
    }
  }

  private static func message(_ type: RTMPMessageType, _ payload: String, at timestamp: UInt32 = 0) -> RTMPMessage {
    RTMPMessage(type: type, timestamp: timestamp, payload: bytes(payload))
  }

  @Test(arguments: Self.otherVideo, [false, true])
  func `video of another codec is named once, and the audio beside it is taken`(
    video: (payload: String, name: String), isFirst: Bool
  ) {
    let configuration = Self.message(.audio, "AF00 1208")
    let first = Self.message(.video, video.payload)
    let frames = stride(from: UInt32(0), to: 20_000, by: 40).map { Self.message(.video, video.payload, at: $0) }
    let audio = [Self.message(.audio, "AF01 21100460", at: 19_000)]
    let outputs = Self.describe((isFirst ? [first, configuration] : [configuration, first]) + frames + audio)
    #expect(outputs == ["description of audio", "no video: \(video.name)", "audio"])
  }

  @Test(arguments: Self.otherVideo)
  func `video of another codec is refused by name where no audio comes for three seconds`(
    payload: String, name: String
  ) {
    func outputs(_ times: some Sequence<UInt32>) -> [String] {
      Self.describe(times.map { Self.message(.video, payload, at: $0) })
    }
    #expect(outputs([0, 40, 2_999]) == [])
    #expect(outputs([0, 40, 3_000]) == ["refused: \(name)"])
    // The clock wraps, runs backwards, or stands still.
    #expect(outputs([UInt32.max - 999, 1_999]) == [])
    #expect(outputs([UInt32.max - 999, 2_000]) == ["refused: \(name)"])
    #expect(outputs([5_000, 4_000]) == [])
    #expect(outputs(repeatElement(7, count: 300)) == [])
    #expect(outputs(repeatElement(7, count: 301)) == ["refused: \(name)"])
  }

  @Test func `a publisher of which neither track is supported is refused at once, by both names`() {
    let (video, audio) = (Self.message(.video, "90 68766331"), Self.message(.audio, "2F 00"))
    let refusal = "refused: video codec HEVC with audio codec MP3"
    #expect(Self.describe([video, audio]) == [refusal])
    #expect(Self.describe([audio, audio, video]) == ["no audio: audio codec MP3", refusal])
  }

  @Test func `video of another codec beside H.264, as of several tracks, takes nothing from it`() throws {
    // A message of several tracks, Enhanced RTMP v2.
    let other = Self.message(.video, "96 01 68766331 00", at: 9_000)
    let audio = Self.message(.audio, "2F 00", at: 9_000)
    let media = Array(TestStream.messages().filter { $0.type == .video }.prefix(2))
    let outputs = Self.describe(media + [other, other, audio])
    #expect(outputs.suffix(2) == ["no video: several video tracks", "no audio: audio codec MP3"])
    #expect(!outputs.contains { $0.hasPrefix("refused") } && outputs.contains("description of video"), "\(outputs)")
  }

  @Test(arguments: [("2F", "audio codec MP3"), ("90 4F707573", "audio codec Opus"), ("D0", "audio codec Opus")])
  func `other codecs of audio are named once, and the video is taken`(payload: String, name: String) throws {
    var depacketizer = RTMPDepacketizer()
    var names: [String] = []
    for _ in 0..<3 {
      for output in try depacketizer.depacketize(RTMPMessage(type: .audio, payload: bytes(payload))) {
        if case .unsupported(.audio, let found) = output { names.append(found) }
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
        if case .unsupported(.audio, let found) = output { names.append(found) }
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
