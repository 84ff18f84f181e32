import Bitstreams
import Media
import NIOCore
import Testing

@testable import RTMP

/// Messages of devices that differ from the specification or from their announcement, as users have reported them.
@Suite("Oddities of publishers")
struct DeviceOdditiesTests {
  /// Messages of a device, and what becomes of them.
  struct Oddity: CustomTestStringConvertible {
    var testDescription: String
    var messages: [RTMPMessage]
    /// v and a for descriptions, K, V and A for samples, in order; ! for a message that is dropped with an error, u for
    /// unsupported audio, k for keyframes that do not come.
    var outputs: String
    var droppedSamples = 0
    /// Decode times of the samples after that of the first one, in milliseconds; nil where they are not odd.
    var times: [Int64]?
  }

  private static func video(_ hexadecimal: String, at timestamp: UInt32 = 0) -> RTMPMessage {
    RTMPMessage(type: .video, timestamp: timestamp, streamID: 1, payload: bytes(hexadecimal))
  }
  private static func audio(_ hexadecimal: String, at timestamp: UInt32 = 0) -> RTMPMessage {
    RTMPMessage(type: .audio, timestamp: timestamp, streamID: 1, payload: bytes(hexadecimal))
  }
  private static func data(
    _ values: [AMFValue], type: RTMPMessageType = .dataAMF0, prefix: [UInt8] = []
  ) -> RTMPMessage {
    var payload = ByteBuffer(bytes: prefix)
    for value in values { value.serialize(into: &payload) }
    return RTMPMessage(type: type, timestamp: 0, streamID: 1, payload: payload)
  }

  private static let sequenceSet = "67 64001FACD9405005BB01100000030010000003 03C0F1831960"
  private static let pictureSet = "68 EBE3CB22C0"
  private static let record = "01 64001F FF E1 001A \(sequenceSet) 01 0006 \(pictureSet) FDF8F800"
  private static let configuration = video("17 00 000000 \(record)")
  private static let audioConfiguration = audio("AF 00 1190")

  private static func keyframe(at timestamp: UInt32 = 0) -> RTMPMessage {
    Self.video("17 01 000000 00000003 658880", at: timestamp)
  }
  private static func frame(at timestamp: UInt32) -> RTMPMessage {
    Self.video("27 01 000000 00000003 419A00", at: timestamp)
  }
  private static func audioFrame(at timestamp: UInt32) -> RTMPMessage { Self.audio("AF 01 21100460", at: timestamp) }
  private static func metadata(_ values: AMFObject) -> RTMPMessage {
    Self.data([.string("@setDataFrame"), .string("onMetaData"), .ecmaArray(values)])
  }

  /// Values that are not read, in metadata: a reference, an unsupported type, a vector, a dictionary.
  private static let unreadValues = ["07 0000", "0D", "11 0D 03 00 00000001", "11 11 03 00 01 01"]
  /// Metadata with a value of a name, and a frame rate of 25 before or behind it.
  private static func metadata(unread value: String, isBehind: Bool) -> RTMPMessage {
    let rate = "0009 6672616D6572617465 00 4039000000000000"
    let unread = "0001 61 \(value)"
    let properties = isBehind ? "\(rate) \(unread)" : "\(unread) \(rate)"
    return RTMPMessage(
      type: .dataAMF0, timestamp: 0, streamID: 1,
      payload: bytes("02 000A 6F6E4D65746144617461 08 00000000 \(properties) 0000 09"))
  }
  /// Ten frames a second for five seconds, without an IDR picture, with a recovery point each second.
  private static let recoveryPoints: [RTMPMessage] = (0..<50).map { (index: Int) -> RTMPMessage in
    let time = UInt32(index * 100)
    guard index % 10 == 0 else { return Self.frame(at: time) }
    return Self.video("27 01 000000 00000005 0606010080 00000003 419A00", at: time)
  }
  /// Ten frames a second for five seconds, without an IDR picture and recovery points, with a slice of type 7 each second.
  private static let intraFrames: [RTMPMessage] = (0..<50).map { (index: Int) -> RTMPMessage in
    let time = UInt32(index * 100)
    return index % 10 == 5 ? Self.video("27 01 000000 00000003 418880", at: time) : Self.frame(at: time)
  }
  /// Four seconds with a keyframe each second.
  private static let framesBeforeConfiguration: [RTMPMessage] = (0..<40).map { (index: Int) -> RTMPMessage in
    index % 10 == 0 ? Self.keyframe(at: UInt32(index * 100)) : Self.frame(at: UInt32(index * 100))
  }
  /// Seven seconds of frames at which no decoding can start.
  private static let framesAlone: [RTMPMessage] = (0..<70).map { (index: Int) -> RTMPMessage in
    Self.frame(at: UInt32(index * 100))
  }

  static let oddities: [Oddity] = [
    Oddity(
      testDescription: "DJI: the configuration of audio before metadata and video (mediamtx #928)",
      messages: [
        audioConfiguration, metadata(["width": 1280, "height": 720, "audiocodecid": 10]), configuration, keyframe(),
        audioFrame(at: 5),
      ], outputs: "avKA"),
    Oddity(
      testDescription: "DJI: no metadata at all (mediamtx #386)",
      messages: [configuration, keyframe(), audioConfiguration, audioFrame(at: 5), frame(at: 33)], outputs: "vKaAV"),
    Oddity(
      testDescription: "DJI: audio is announced and never comes (go2rtc #1969)",
      messages: [
        metadata(["audiocodecid": 10, "stereo": true, "videocodecid": 7]), configuration, keyframe(), frame(at: 33),
      ], outputs: "vKV"),
    Oddity(
      testDescription: "DJI: timestamps run backwards (go2rtc #1969)",
      messages: [configuration, keyframe(at: 1000), frame(at: 1033), frame(at: 1012), frame(at: 1066)],
      outputs: "vKVVV", times: [0, 33, 12, 66]),
    Oddity(
      testDescription: "DJI: other numbers of codecs in the metadata than in the messages (mediamtx #1102)",
      messages: [
        metadata(["videocodecid": "avc1", "audiocodecid": "mp4a"]), metadata(["videocodecid": 0, "audiocodecid": 0]),
        configuration, keyframe(),
      ], outputs: "vK"),
    Oddity(
      testDescription: "Dahua: metadata without the codec of the video (mediamtx #769)",
      messages: [metadata(["width": 1920, "height": 1080, "framerate": 25]), configuration, keyframe()], outputs: "vK"),
    Oddity(
      testDescription: "a frame rate of 0, and a size that is not that of the video",
      messages: [metadata(["framerate": 0, "width": 0, "height": 90_000]), configuration, keyframe()], outputs: "vK"),
    Oddity(
      testDescription: "metadata without @setDataFrame, as objects and in messages of AMF 3",
      messages: [
        data([.string("onMetaData"), .object(["framerate": 30])]),
        data([.string("onMetaData"), .object(["framerate": 30])], type: .dataAMF3, prefix: [0]),
        data([.string("onTextData"), .object(["text": "hello"])]), data([.string("onMetaData")]), configuration,
        keyframe(),
      ], outputs: "vK"),
    Oddity(
      testDescription: "metadata that is cut off is dropped alone",
      messages: [
        RTMPMessage(
          type: .dataAMF0, timestamp: 0, streamID: 1, payload: bytes("02 000A 6F6E4D657461 44617461 08 00000001 00")),
        configuration, keyframe(),
      ], outputs: "!vK"),
    Oddity(
      testDescription: "frames of audio whose configuration never comes",
      messages: [configuration, keyframe(), audioFrame(at: 5), audioFrame(at: 28), frame(at: 33)], outputs: "vKV",
      droppedSamples: 2),
    Oddity(
      testDescription: "the configuration again before each keyframe",
      messages: [configuration, keyframe(), configuration, keyframe(at: 33), configuration, keyframe(at: 67)],
      outputs: "vKKK"),
    Oddity(
      testDescription: "a configuration without parameter sets, which are in the access units",
      messages: [
        video("17 00 000000 01 64001F FF E0 00"),
        video("17 01 000000 0000001A \(sequenceSet) 00000006 \(pictureSet) 00000003 658880"), frame(at: 33),
      ], outputs: "!vKV"),
    Oddity(
      testDescription: "delimiters, parameter sets and messages of the encoder (SEI) in each access unit",
      messages: [
        configuration,
        video(
          "17 01 000000 00000002 09F0 0000001A \(sequenceSet) 00000006 \(pictureSet) 00000003 060100 00000003 658880"),
        video("27 01 000000 00000002 09F0 00000003 419A00", at: 33),
      ], outputs: "vKV"),
    Oddity(
      testDescription: "empty NAL units beside slices, and an access unit of empty ones alone",
      messages: [
        configuration, video("17 01 000000 00000000 00000003 658880 00000000"), video("27 01 000000 00000000", at: 10),
        video("27 01 000000 00000000 00000003 419A00", at: 33), video("17 01 000000 00000000 00000000", at: 50),
        frame(at: 66),
      ], outputs: "vKVV", droppedSamples: 1, times: [0, 33, 66]),
    Oddity(
      testDescription: "lengths of two bytes in front of NAL units",
      messages: [
        video("17 00 000000 01 64001F FD E1 001A \(sequenceSet) 01 0006 \(pictureSet)"),
        video("17 01 000000 0003 658880"),
        video("27 01 000000 0003 419A00", at: 33),
      ], outputs: "vKV"),
    Oddity(
      testDescription: "B-frames, whose time of presentation is later, and one that is earlier than its decoding",
      messages: [
        configuration, video("17 01 000042 00000003 658880"), video("27 01 000085 00000003 419A00", at: 33),
        video("27 01 FFFFDF 00000003 419A00", at: 67),
      ], outputs: "vKVV", times: [0, 33, 67]),
    Oddity(
      testDescription: "messages of no bytes, as sent to keep a connection alive",
      messages: [configuration, video(""), audio(""), keyframe(), video("17 01 000000", at: 10), frame(at: 33)],
      outputs: "vKV", droppedSamples: 1),
    Oddity(
      testDescription: "commands to the player between frames",
      messages: [configuration, video("57 00"), keyframe(), video("57 01", at: 20), frame(at: 33)], outputs: "vKV"),
    Oddity(
      testDescription: "an end of the sequence, with and without a time, and a new one",
      messages: [
        configuration, keyframe(), video("17 02 000000", at: 33), video("17 02", at: 33), configuration,
        keyframe(at: 66),
      ], outputs: "vKK"),
    Oddity(
      testDescription: "recovery points that are called keyframes, and keyframes that are not",
      messages: [
        configuration, video("17 01 000000 00000003 419A00"), video("27 01 000000 00000003 658880", at: 33),
        video("17 01 000000 00000003 419A00", at: 67),
      ], outputs: "vKV", droppedSamples: 1),
    Oddity(
      testDescription: "times that begin before the end of 32 bits",
      messages: [
        configuration, audioConfiguration, keyframe(at: 0xFFFF_FFF0), audioFrame(at: 0xFFFF_FFF8), frame(at: 17),
        audioFrame(at: 7),
      ], outputs: "vaKAVA", times: [0, 8, 33, 23]),
    Oddity(
      testDescription: "the size of the video changes while it is sent",
      messages: [
        configuration, keyframe(),
        // Constrained Baseline, level 1.3, 320×180.
        video("17 00 000000 01 42C00D FF E1 0017 6742C00DDA05067E7C0440000003004000000F03C50AA8 01 0004 68CE0FC8"),
        keyframe(at: 33),
      ], outputs: "vKvK"),
    Oddity(
      testDescription: "headers of Enhanced RTMP for H.264 and AAC, with modifiers",
      messages: [
        video("90 61766331 \(record)"), audio("90 6D703461 1190"), video("91 61766331 000000 00000003 658880"),
        video("A7 03 00000000 03 61766331 00000003 419A00", at: 33), audio("91 6D703461 21100460", at: 5),
      ], outputs: "vaKVA"),
    Oddity(
      testDescription: "an access unit that is cut off is dropped alone",
      messages: [configuration, keyframe(), video("27 01 000000 000000FF 419A00", at: 33), frame(at: 67)],
      outputs: "vK!V"),
    Oddity(
      testDescription:
        "metadata with values of AMF that are not read: a reference, an unsupported type, a vector, a dictionary",
      messages: unreadValues.map { metadata(unread: $0, isBehind: true) } + [configuration, keyframe()], outputs: "vK"),
    Oddity(
      testDescription: "a damaged configuration, and one of AAC that is not read, before good ones",
      messages: [
        video("17 00 000000 02 64001F FF E0 00"), configuration, audio("AF 00 1192"), keyframe(), audioConfiguration,
        audioFrame(at: 5),
      ], outputs: "!vuKaA", droppedSamples: 1),
    Oddity(
      testDescription: "audio of a codec that is not supported: the video is taken without it",
      messages: [
        configuration, keyframe(), audio("72 0102"), audio("72 0102", at: 20), audio("2F 0102"), frame(at: 33),
      ],
      outputs: "vKuV", droppedSamples: 3),
    Oddity(
      testDescription: "no IDR picture, but recovery points every second",
      messages: [configuration] + recoveryPoints, outputs: "v" + String(repeating: "KVVVVVVVVV", count: 5)),
    Oddity(
      testDescription: "-c copy from DVB: intra frames, no IDR picture and no recovery point",
      messages: [configuration] + intraFrames,
      outputs: "vkKVVVVVVVVVKVVVV", droppedSamples: 35),
    Oddity(
      testDescription: "the configuration long after the first frames",
      messages: framesBeforeConfiguration + [configuration, frame(at: 4000), keyframe(at: 4100), frame(at: 4200)],
      outputs: "kvKV", droppedSamples: 41),
    Oddity(
      testDescription: "no frame at which decoding can start",
      messages: [configuration] + framesAlone + [keyframe(at: 7000), frame(at: 7100)],
      outputs: "vkKV", droppedSamples: 70),
    Oddity(
      testDescription: "MP3 header bits of AAC: another rate, size and number of channels in the first byte",
      messages: [audio("A2 00 1208"), audio("A0 01 21100460", at: 23)], outputs: "aA"),
  ]

  @Test(arguments: oddities)
  func `a publication goes on`(oddity: Oddity) {
    var depacketizer = RTMPDepacketizer()
    var (outputs, times): (String, [Int64]) = ("", [])
    for message in oddity.messages {
      do throws(ParsingError) {
        for output in try depacketizer.depacketize(message) {
          switch output {
          case .description(let description): outputs += description.kind == .video ? "v" : "a"
          case .sample(let sample):
            outputs += sample.kind == .audio ? "A" : sample.isKeyframe ? "K" : "V"
            times.append(sample.decodeTime.ticks(timescale: 1000))
          case .unsupported(let kind, let codec):
            #expect(kind == .audio)
            #expect(codec == "audio codec G.711" || codec == "dependsOnCoreCoder")
            outputs += "u"
          case .missingKeyframe(let count):
            #expect(count == 31)
            outputs += "k"
          }
        }
      } catch {
        #expect(!RTMPDepacketizer.isFatal(error), "\(error)")
        outputs += "!"
      }
    }
    #expect(outputs == oddity.outputs)
    #expect(depacketizer.droppedSampleCount == oddity.droppedSamples)
    if let expected = oddity.times { #expect(times.map { $0 - (times.first ?? 0) } == expected) }
  }

  @Test(arguments: unreadValues, [true, false])
  func `the frame rate of metadata is read beside a value that is not`(value: String, isBehind: Bool) throws {
    // The length of values of AMF 3 is not known.
    guard isBehind || !value.hasPrefix("11") else { return }
    var depacketizer = RTMPDepacketizer()
    _ = try depacketizer.depacketize(Self.metadata(unread: value, isBehind: isBehind))
    #expect(depacketizer.announcedFrameRate == 25)
  }

  @Test(arguments: [true, false])
  func `a stream with two picture parameter sets has both before its keyframes`(inBand: Bool) throws {
    // The second set: identifier 1 of the same sequence parameter set.
    let second = "68 5B"
    let parsed = try H264PictureParameterSet(parsing: Array(bytes(second).readableBytesView))
    #expect(parsed.id == 1 && parsed.sequenceParameterSetID == 0)
    var depacketizer = RTMPDepacketizer()
    let record = "01 64001F FF E1 001A \(Self.sequenceSet) 02 0006 \(Self.pictureSet) 0002 \(second) FDF8F800"
    _ = try depacketizer.depacketize(inBand ? Self.configuration : Self.video("17 00 000000 \(record)"))
    let sets = "0000001A \(Self.sequenceSet) 00000006 \(Self.pictureSet) 00000002 \(second)"
    let keyframe = inBand ? Self.video("17 01 000000 00000002 \(second) 00000003 658880") : Self.keyframe()
    guard case .sample(let sample)? = try depacketizer.depacketize(keyframe).last else {
      throw ParsingError(.missing, field: "sample")
    }
    #expect(sample.payload == bytes("\(sets) 00000003 658880") && sample.isKeyframe)
    guard case .sample(let frame)? = try depacketizer.depacketize(Self.frame(at: 33)).last else {
      throw ParsingError(.missing, field: "sample")
    }
    #expect(frame.payload == bytes("00000003 419A00"))
  }

  @Test func `a day of a camera, whose 32-bit clock wraps in it, keeps its times`()
    throws
  {
    var depacketizer = RTMPDepacketizer()
    _ = try depacketizer.depacketize(Self.configuration)
    _ = try depacketizer.depacketize(Self.audioConfiguration)
    // The clock of the camera wraps after twelve hours.
    let start = UInt32.max - 12 * 3600 * 1000
    var keyframe = Self.keyframe()
    var (frame, block) = (Self.frame(at: 0), Self.audioFrame(at: 0))
    var origin: Int64?
    var (wrong, count) = (0, 0)
    func check(_ message: RTMPMessage, at milliseconds: Int64) throws {
      for case .sample(let sample) in try depacketizer.depacketize(message) {
        let time = sample.decodeTime.ticks(timescale: 1000)
        let first = origin ?? time - milliseconds
        origin = first
        if time - first != milliseconds { wrong += 1 }
        count += 1
      }
    }
    // Four frames and one block of audio for each minute are enough to follow the clock.
    for minute in Int64(0)..<(24 * 60) {
      for quarter in Int64(0)..<4 {
        let milliseconds = minute * 60_000 + quarter * 15_000
        let timestamp = start &+ UInt32(truncatingIfNeeded: milliseconds)
        if quarter == 0 {
          keyframe.timestamp = timestamp
          try check(keyframe, at: milliseconds)
          block.timestamp = timestamp &+ 11
          try check(block, at: milliseconds + 11)
        } else {
          frame.timestamp = timestamp
          try check(frame, at: milliseconds)
        }
      }
    }
    #expect(wrong == 0 && count == 24 * 60 * 5)
  }
}
