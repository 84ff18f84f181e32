import Media
import NIOCore
import RTMP
import Testing

@testable import RTMPServer

@Suite("Messages of a push")
struct RTMPPushMediaTests {
  private static let video = CodecDescription.h264(
    H264Description(
      sequenceParameterSet: [0x67, 0x42, 0xC0, 0x1F], pictureParameterSet: [0x68, 0xCE], width: 640, height: 360,
      frameRate: 30))
  private static let audio = CodecDescription.aac(
    AACDescription(audioSpecificConfig: [0x12, 0x08], format: AudioFormat(sampleRate: 44_100, channelCount: 1)))

  private static func sample(_ kind: MediaKind, at milliseconds: Int64, isKeyframe: Bool = false) -> EncodedSample {
    EncodedSample(
      kind: kind, payload: ByteBuffer(bytes: [1, 2, 3]),
      presentationTime: .zero + .seconds(100) + .milliseconds(milliseconds), duration: .milliseconds(33),
      isKeyframe: isKeyframe)
  }

  private static func summary(_ messages: [RTMPMessage]) -> [String] {
    messages.map { message in
      let bytes = Array(message.payload.readableBytesView.prefix(2))
      return "\(message.type == .video ? "V" : message.type == .audio ? "A" : "D")\(message.timestamp) \(bytes)"
    }
  }

  @Test func `metadata and configurations come first, and time begins at 0`() throws {
    var media = RTMPPushMedia(bitrates: (2_300_000, 64_000))
    #expect(media.messages(for: Self.sample(.video, at: 0, isKeyframe: true)).isEmpty)
    media.configure([Self.video, Self.audio])
    let messages = media.messages(for: Self.sample(.video, at: 0, isKeyframe: true))
    #expect(Self.summary(messages) == ["D0 [2, 0]", "V0 [23, 0]", "A0 [175, 0]", "V0 [23, 1]"])
    let metadata = try #require(try RTMPMetadata(parsing: messages[0]))
    #expect(metadata.values["width"]?.number == 640 && metadata.values["height"]?.number == 360)
    #expect(metadata.values["framerate"]?.number == 30 && metadata.values["videodatarate"]?.number == 2300)
    #expect(metadata.values["audiosamplerate"]?.number == 44_100 && metadata.values["audiodatarate"]?.number == 64)
    #expect(metadata.values["stereo"] == .boolean(false))
    // A server keeps it for its players.
    #expect(String(buffer: messages[0].payload).contains("@setDataFrame"))
    #expect(media.messages(for: Self.sample(.audio, at: -5)).isEmpty)
    #expect(Self.summary(media.messages(for: Self.sample(.audio, at: 7))) == ["A7 [175, 1]"])
  }

  @Test func `a stream without audio gets silence without gaps`() throws {
    var media = RTMPPushMedia(bitrates: (nil, nil))
    media.configure([Self.video])
    var messages: [RTMPMessage] = []
    for frame in Int64(0)..<300 { messages += media.messages(for: Self.sample(.video, at: frame * 33)) }
    let audio = messages.filter { $0.type == .audio }
    // The configuration, and a frame each 21.3 ms of 9.867 s.
    #expect(audio.count == 1 + 463)
    #expect(Array(audio[0].payload.readableBytesView) == [0xAF, 0, 0x11, 0x90])
    for (index, message) in audio.dropFirst().enumerated() {
      #expect(abs(Double(message.timestamp) - Double(index) * 64 / 3) < 1)
      #expect(Array(message.payload.readableBytesView.dropFirst(2)) == Array(SilentAudio.frame.readableBytesView))
    }
    let metadata = try #require(try RTMPMetadata(parsing: messages[0]))
    #expect(metadata.values["audiocodecid"]?.number == 10 && metadata.values["stereo"] == .boolean(true))
  }

  @Test func `silence ends where the stream's audio begins`() {
    var media = RTMPPushMedia(bitrates: (nil, nil))
    media.configure([Self.video])
    var messages: [RTMPMessage] = []
    for frame in Int64(0)..<30 { messages += media.messages(for: Self.sample(.video, at: frame * 33)) }
    #expect(messages.count { $0.type == .audio } > 40)
    media.configure([Self.video, Self.audio])
    messages = media.messages(for: Self.sample(.video, at: 1000, isKeyframe: true))
    #expect(Self.summary(messages) == ["D0 [2, 0]", "V1000 [23, 0]", "A1000 [175, 0]", "V1000 [23, 1]"])
    for frame in Int64(1)..<30 {
      #expect(!media.messages(for: Self.sample(.video, at: 1000 + frame * 33)).contains { $0.type == .audio })
    }
  }

  @Test func `after a gap of minutes silence goes on at the current time`() {
    var silence = SilentAudio(start: .zero)
    #expect(silence.samples(before: .zero).isEmpty)
    #expect(silence.samples(before: .zero + .milliseconds(1)).count == 1)
    let late = silence.samples(before: .zero + .milliseconds(600_005))
    #expect(late.count == 1)
    #expect(late.allSatisfy { abs($0.presentationTime.seconds - 600) < 0.03 })
  }
}
