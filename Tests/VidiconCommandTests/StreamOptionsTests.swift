import Authentication
import Capture
import CaptureDevices
import Media
import MediaInput
import Recording
import Streaming
import Testing

@testable import VidiconCommand

@Suite("Stream options")
struct StreamOptionsTests {
  private func option(_ key: StreamOptions.Key, _ text: String) throws -> StreamOptions {
    var options = StreamOptions()
    try options.set(key, to: text)
    return options
  }

  @Test(arguments: [
    ("30", FrameRate(30)), ("29.97", FrameRate(30_000, over: 1001)), ("23.976", FrameRate(24_000, over: 1001)),
    ("30000/1001", FrameRate(30_000, over: 1001)), ("12.5", FrameRate(25, over: 2)), ("240", FrameRate(240)),
  ])
  func `frame rates are numbers or fractions`(text: String, rate: FrameRate) throws {
    #expect(try self.option(.fps, text).frameRate == rate)
  }

  @Test(arguments: ["0", "-1", "241", "30/0", "0/1", "x", "", "nan", "inf", "1e9", "2147483647/1", "30/1/1"])
  func `other frame rates are refused`(text: String) {
    #expect(throws: VidiconError.self) { try self.option(.fps, text) }
  }

  @Test(arguments: [("2300k", 2_300_000), ("2.3M", 2_300_000), ("10000", 10_000), ("200M", 200_000_000)])
  func `bitrates accept k and M`(text: String, bitrate: Int) throws {
    #expect(try self.option(.bitrate, text).bitrate == bitrate)
  }

  @Test(arguments: ["0", "-5k", "9999", "201M", "k", "", "1e30", "nan", "2300kk"])
  func `other bitrates are refused`(text: String) {
    #expect(throws: VidiconError.self) { try self.option(.bitrate, text) }
  }

  @Test(arguments: [(StreamOptions.Key.bitrate, "such as 2300k"), (.audioBitrate, "such as 64k")])
  func `a bitrate that is refused comes with an example of its kind`(key: StreamOptions.Key, example: String) {
    #expect {
      _ = try self.option(key, "1")
    } throws: { error in
      (error as? VidiconError)?.description.hasSuffix(example) == true
    }
  }

  @Test(arguments: ["1280", "1280x", "x720", "1281x720", "14x16", "8194x720", "-2x2", "1280x720x3", "1280X720"])
  func `invalid sizes are refused`(text: String) {
    #expect(throws: VidiconError.self) { try self.option(.size, text) }
  }

  @Test func `passing through is automatic, on or off`() throws {
    #expect(StreamOptions().video.passThrough == .auto)
    for (text, mode) in [("auto", .auto), ("on", .on), ("off", .off)] as [(String, VideoSettings.PassThrough)] {
      #expect(try self.option(.passThrough, text).video.passThrough == mode)
      let stream = try StreamOptions(parsing: "name=a,passThrough=\(text)", defaults: StreamOptions())
      #expect(stream.passThrough == mode)
    }
    for text in ["", "yes", "On", "true"] {
      let error = #expect(throws: VidiconError.self) { try self.option(.passThrough, text) }
      #expect(error?.exitStatus == 64 && error?.description.contains("give auto, on or off") == true)
    }
  }

  @Test func `a profile and the length of the rate control buffer are given by name and in seconds`() throws {
    #expect(StreamOptions().video.profile == nil && StreamOptions().video.rateBuffer == .seconds(1))
    #expect(try self.option(.profile, "baseline").video.profile == .baseline)
    #expect(try self.option(.profile, "auto").video.profile == nil)
    for (text, length) in [("0.25", 250), ("2", 2000), ("500ms", 500)] as [(String, Int64)] {
      #expect(try self.option(.vbv, text).video.rateBuffer == .milliseconds(length))
    }
    for (key, text) in [(.profile, "High10"), (.profile, ""), (.vbv, "0.2"), (.vbv, "3"), (.vbv, "x")]
      as [(StreamOptions.Key, String)]
    {
      #expect(throws: VidiconError.self) { try self.option(key, text) }
    }
  }

  @Test func `renditions are given by name, size, bitrate and frame rate, or not at all`() throws {
    #expect(StreamOptions().video.renditions == .automatic)
    #expect(try self.option(.rendition, "auto").renditions == .automatic)
    #expect(try self.option(.rendition, "none").renditions == .list([]))
    let low = RenditionSettings(name: "low", width: 640, height: 360, bitrate: 450_000, frameRate: 15)
    let tiny = RenditionSettings(name: "tiny", width: 320, height: 180, bitrate: 150_000)
    let text = "name=low,size=640x360,bitrate=450k,fps=15;name=tiny,bitrate=150k,size=320x180"
    #expect(try self.option(.rendition, text).video.renditions == .list([low, tiny]))
    let stream = try StreamOptions(
      parsing: "name=a,rendition=name=low,,size=640x360,,bitrate=450k,,fps=15", defaults: StreamOptions())
    #expect(stream.renditions == .list([low]))
  }

  @Test(arguments: [
    "", "low", "name=low", "name=low,size=640x360", "name=low,size=640x360,bitrate=450k,fps=0",
    "name=low,size=640x360x1,bitrate=450k", "name=low,size=640x360,bitrate=450k,name=b", "auto;none",
    "name=low,size=640x360,bitrate=450k,color=red", "name=low,size=640x360,bitrate=450k;",
    "name=low,size=640x360,bitrate=1", "name=low,size=640x360,bitrate=450k,fps=1001",
  ])
  func `other renditions are refused in one line`(text: String) {
    #expect {
      _ = try self.option(.rendition, text)
    } throws: { error in
      guard let error = error as? VidiconError else { return false }
      return error.exitStatus == 64 && !error.description.contains("\n")
    }
  }

  @Test(arguments: [
    ("name=low,size=641x360,bitrate=450k", 1), ("name=whep,size=640x360,bitrate=450k", 1),
    ("name=low,size=640x360,bitrate=450k;name=low,size=320x180,bitrate=450k", 2),
    ((0..<20).map { "name=r\($0),size=640x360,bitrate=450k" }.joined(separator: ";"), 20),
  ])
  func `renditions that a stream cannot have do not end the program`(text: String, count: Int) throws {
    // Such renditions are reported by the stream, which runs without them.
    guard case .list(let list) = try self.option(.rendition, text).video.renditions else {
      Issue.record("it is no list")
      return
    }
    #expect(list.count == count)
  }

  @Test(arguments: ["live", "a/b", "~x.y_z-1"])
  func `names of letters, digits and a few signs are accepted`(name: String) throws {
    #expect(try self.option(.name, name).name == name)
  }

  @Test(arguments: ["", "/a", "a/", "a//b", "a b", "ä", "..", "a/../b", "a?b", "a\r\nb", "api", "Metrics/x"])
  func `names that cannot be part of an address are refused`(name: String) {
    #expect(throws: VidiconError.self) { try self.option(.name, name) }
  }

  @Test func `pairs are read with the defaults around them, and two commas are one in a value`() throws {
    var defaults = StreamOptions()
    try defaults.set(.bitrate, to: "1M")
    let options = try StreamOptions(parsing: "name=door,source=file:a,,b.mp4,size=640x360", defaults: defaults)
    #expect(options.name == "door" && options.source == "file:a,b.mp4")
    #expect(options.size == StreamOptions.Size(width: 640, height: 360) && options.bitrate == 1_000_000)
  }

  @Test(arguments: ["", "source=bars", "name=a,name=b", "name=a,colour=red", "name"])
  func `pairs without a name, unknown or repeated are refused`(text: String) {
    #expect(throws: VidiconError.self) { try StreamOptions(parsing: text, defaults: StreamOptions()) }
  }

  @Test func `options override parts of a preset, in any order`() throws {
    let options = try StreamOptions(parsing: "name=a,bitrate=1M,preset=portrait", defaults: StreamOptions())
    #expect(options.size == StreamOptions.Size(width: 720, height: 1280) && options.bitrate == 1_000_000)
    #expect(options.audioSettings == AudioSettings.portrait)
    #expect(throws: VidiconError.self) { try self.option(.preset, "landscape") }
  }

  @Test func `a recording has the stream's name and the options of its parts`() throws {
    let options = try StreamOptions(
      parsing: "name=a/b,record=x/{name}.mp4,splitDuration=1h30m,keepSize=1.5G,keepFree=0,overwrite=true,title=Yard",
      defaults: StreamOptions())
    let settings = try #require(try options.recordingSettings(existing: .number))
    #expect(settings.pattern.description == "x/a-b.mp4" && settings.existingFiles == .overwrite)
    #expect(settings.partDuration == .seconds(5_400) && settings.retention.byteCount == 1_500_000_000)
    #expect(settings.title == "Yard" && settings.partByteCount == nil)
    #expect(settings.minimumFreeByteCount == 0 && settings.recorderID == "a-b.mp4")
    #expect(try StreamOptions().recordingSettings(existing: .number) == nil)
  }

  @Test func `a folder is for recordings that start later, a pattern for recordings that start at once`() throws {
    let later = try StreamOptions(parsing: "name=a/b,recordings=/my 100%", defaults: StreamOptions())
    #expect(
      try later.recordingSettings(existing: .number)?.pattern.description == "/my 100%%/a-b_%F_%H-%M-%S.mp4")
    #expect(!later.recording.startsAtOnce)
    #expect(throws: VidiconError.self) { try later.recording.checkFolder() }
    var both = try StreamOptions(parsing: "name=a,recordings=/tmp", defaults: StreamOptions())
    try both.recording.checkFolder()
    try both.set(.record, to: "x.mp4")
    #expect(both.recording.startsAtOnce)
    #expect(try both.recordingSettings(existing: .number)?.pattern.description == "x.mp4")
  }

  @Test(arguments: [("90", 90_000), ("1.5s", 1_500), ("10m", 600_000), ("1h30m", 5_400_000), ("7d", 604_800_000)])
  func `times are numbers with units`(text: String, milliseconds: Int64) throws {
    #expect(try Quantity.duration(text) == .milliseconds(milliseconds))
  }

  @Test(arguments: ["", "0", "s", "-5s", "5x", "1e9", "nan", "inf", "9999d", "1.2.3s", "5 s"])
  func `other times are refused`(text: String) {
    #expect(throws: VidiconError.self) { try Quantity.duration(text) }
  }

  @Test(arguments: [("500M", 500_000_000), ("20GB", 20_000_000_000), ("1.5k", 1_500), ("1", 1)])
  func `sizes are numbers with units`(text: String, byteCount: Int) throws {
    #expect(try Quantity.byteCount(text) == byteCount)
  }

  @Test(arguments: ["", "0", "M", "-5M", "5x", "nan", "2000T", "5 M"])
  func `other sizes in bytes are refused`(text: String) {
    #expect(throws: VidiconError.self) { try Quantity.byteCount(text) }
  }

  @Test(arguments: [("screen:", "auto", true), ("screen:", "none", false), ("plasma", "auto", true)])
  func `a served stream has an audio track unless none is requested`(
    source: String, audio: String, hasAudio: Bool
  ) async throws {
    var options = StreamOptions()
    (options.source, options.audio) = (source, audio)
    #expect(
      try await (options.openStream(for: .serving(needsConnection: true), loop: true).audioSource != nil) == hasAudio)
    let recorded = try await options.openStream(for: .recording, loop: true)
    #expect((recorded.audioSource is SilenceCapturer) == false)
  }

  @Test(arguments: [("rtmp:", "key"), ("rtsp:", "key"), ("whip:", "token")])
  func `the key of a publisher is kept apart from the source, which is shown`(
    source: String, parameter: String
  ) throws {
    var options = StreamOptions()
    try options.set(.source, to: "\(source)?\(parameter)=0123456789abcdef")
    #expect(options.source == source && options.publishKey?.secret.text == "0123456789abcdef")
    try options.set(.source, to: source)
    #expect(options.source == source && options.publishKey == nil && options.publishScheme?.sourceName == source)
    for query in ["KEY=short", "KEY=", "secret=0123456789abcdef", "KEY=0123456789abcde?"] {
      let text = "\(source)?\(query.replacing("KEY", with: parameter))"
      let error = #expect(throws: VidiconError.self) { try options.set(.source, to: text) }
      #expect(error?.description.contains("0123456789") == false)
    }
  }

  @Test(arguments: [
    ("https://h/x?insecure=1", "none", true), ("rtsps://h/x?a=b&insecure=1", "auto", true),
    ("bars", "https://h/x?insecure=1", true), ("https://h/x", "auto", false), ("https://h/x?insecure=0", "auto", false),
    ("file:a?insecure=1", "tone", false),
  ])
  func `a source that accepts any certificate is known`(source: String, audio: String, isInsecure: Bool) {
    var options = StreamOptions()
    (options.source, options.audio) = (source, audio)
    #expect(options.acceptsAnyCertificate == isInsecure)
  }
}
