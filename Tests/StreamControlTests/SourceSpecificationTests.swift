import Capture
import CaptureDevices
import Media
import MediaInput
import StreamControl
import TestSupport
import Testing

@Suite("Source specification")
struct SourceSpecificationTests {
  @Test func `each name is a source`() throws {
    let videos: [(String, SourceSpecification.Video)] = [
      ("plasma", .plasma), ("noise", .noise), ("bars", .bars), ("pipe:", .pipe), ("file:a.mp4", .file(path: "a.mp4")),
      ("rtmp:", .published(.rtmp)), ("rtsp:", .published(.rtsp)), ("whip:", .published(.whip)),
      ("file:file:a", .file(path: "file:a")), ("file:https://host/a.m3u8", .file(path: "https://host/a.m3u8")),
    ]
    for (text, video) in videos {
      #expect(try SourceSpecification(video: text).video == video)
      #expect(video.name == text)
    }
    let audios: [(String, SourceSpecification.Audio)] = [
      ("auto", .auto), ("tone", .tone), ("silence", .silence), ("none", .none), ("file:ä b", .file(path: "ä b")),
    ]
    for (text, audio) in audios {
      #expect(try SourceSpecification(video: "bars", audio: text).audio == audio)
      #expect(audio.name == text)
    }
    #expect(try SourceSpecification(video: "bars").audio == .auto)
  }

  @Test func `names of devices and addresses are kept, and other names are those of a catalog of one's own`() throws {
    for name in [
      "v4l2:/dev/video0?size=640x480&fps=30000/1001&format=mjpeg&input=1", "screen::0.1?region=1,2,3,4&cursor=0&fps=5",
      "screen:?window=0x5", "rtsp://me:secret@cam:554/a?b=1#transport=udp", "HTTPS://cam/a?insecure=1&b=2", "sweep",
      "own:front", "FILE:/a",
    ] {
      #expect(try SourceSpecification.Video(naming: name).name == name)
    }
    for name in ["mic:", "mic:hw:1,0?rate=48000&channels=1", "rtsp://me:secret@cam/a", "own:left"] {
      #expect(try SourceSpecification.Audio(naming: name).name == name)
    }
    #expect(try SourceSpecification.Video(naming: "sweep") == .other("sweep"))
    #expect(throws: VidiconError.self) { try SourceSpecification.Video(naming: "v4l2:?size=0x0") }
    // In code, such a name fails when it is opened.
    #expect(("v4l2:?size=0x0" as SourceSpecification.Video) == .other("v4l2:?size=0x0"))
    #expect(throws: VidiconError.self) {
      try Sources(SourceSpecification(video: "v4l2:?size=0x0" as SourceSpecification.Video), devices: SystemDevices())
    }
    let audio: SourceSpecification.Audio = "own:left"
    #expect(throws: VidiconError.self) {
      try Sources(SourceSpecification(video: .bars, audio: audio), devices: SystemDevices())
    }
  }

  @Test(arguments: ["", "Plasma", "plasma ", "file:", "pipe", "v4l3:", "tone", "/a.mp4"])
  func `other names are errors that say which there are`(text: String) {

    let error = #expect(throws: VidiconError.self) { try SourceSpecification(video: text) }
    #expect(error?.code == .invalidSpecification)
    #expect(error?.nextStep.contains("file:PATH") == true)
    #expect(error?.description.hasPrefix(text.isEmpty ? "\"\": " : "\(text): ") == true)
    let audio = #expect(throws: VidiconError.self) {
      try SourceSpecification(video: "bars", audio: text == "tone" ? "beep" : text)
    }
    #expect(audio?.code == .invalidSpecification)
  }

  @Test func `audio is that of the video source unless it is chosen`() throws {
    let path = try TestMedia.flashAndBeep()
    let silent = try TestMedia.path("silent.mp4", ["-i", path, "-an", "-c", "copy"])
    let mute = try Sources(SourceSpecification(video: .file(path: silent)), devices: SystemDevices())
    #expect(mute.audio == nil)
    let drawn = try Sources(
      SourceSpecification(video: .bars), devices: SystemDevices(), width: 64, height: 48, frameRate: FrameRate(10))
    #expect(drawn.video is BarsCapturer && drawn.audio is ToneCapturer)
    #expect(drawn.video.format == VideoFormat(width: 64, height: 48, frameRate: FrameRate(10)))
    #expect(try Sources(SourceSpecification(video: .noise, audio: .none), devices: SystemDevices()).audio == nil)
    #expect(
      try Sources(SourceSpecification(video: .plasma, audio: .silence), devices: SystemDevices()).audio
        is SilenceCapturer)
    let other = try Sources(SourceSpecification(video: .plasma, audio: .file(path: path)), devices: SystemDevices())
    #expect(other.audio?.format == AudioFormat(sampleRate: 48_000, channelCount: 1))
    let error = #expect(throws: VidiconError.self) {
      try Sources(SourceSpecification(video: .plasma, audio: .file(path: silent)), devices: SystemDevices())
    }
    #expect(error?.code == .missingTrack)
    let audioFile = try TestMedia.path("audio.wav", ["-i", path, "-vn"])
    let missing = #expect(throws: VidiconError.self) {
      try Sources(SourceSpecification(video: .file(path: audioFile)), devices: SystemDevices())
    }
    #expect(missing?.code == .missingTrack)
  }

  @Test(arguments: [SourceSpecification.Audio.auto, .file(path: "")])
  func `one file is the source of video and audio on one timeline`(audio: SourceSpecification.Audio) throws {

    let path = try TestMedia.flashAndBeep()
    let sources = try Sources(
      SourceSpecification(video: .file(path: path), audio: audio == .auto ? .auto : .file(path: path)),
      devices: SystemDevices())
    let videoCollector = FrameCollector(keep: 1)
    let audioCollector = AudioCollector()
    try sources.video.start(consumer: videoCollector)
    try #require(sources.audio).start(consumer: audioCollector)
    let frame = try #require(videoCollector.frames(1).first)
    let block = try #require(audioCollector.blocks(samples: 1).first)
    sources.video.stop()
    sources.audio?.stop()
    #expect(abs((frame.timestamp - block.timestamp).nanoseconds) < 1_000_000_000)
  }

  @Test func `a capturer has the name of its source, by which other streams that show it are known`() throws {
    let path = try TestMedia.flashAndBeep()
    for text in ["file:\(path)", "v4l2:/dev/video9", "v4l2:Some camera", "v4l2:", "screen::7"] {
      let sources = try Sources(SourceSpecification(video: text, audio: "none"), devices: SystemDevices())
      #expect(sources.video.sourceName == text)
    }
    for text in ["bars", "plasma", "noise", "rtmp:", "rtsp:", "whip:"] {
      let sources = try Sources(SourceSpecification(video: text, audio: "none"), devices: SystemDevices())
      #expect(sources.video.sourceName == nil)
    }
  }
}
