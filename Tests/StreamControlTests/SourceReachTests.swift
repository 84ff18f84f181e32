import CaptureDevices
import Foundation
import Media
import TestSupport
import Testing

@testable import StreamControl

@Suite("Files and hosts that clients may choose")
struct SourceReachTests {
  /// A folder with a folder to choose from, a file inside, a file outside, and links between them.
  private static func withFolders(_ body: (_ folder: String) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try FileManager.default.createDirectory(atPath: "\(folder)/media/day", withIntermediateDirectories: true)
    try FileManager.default.createDirectory(atPath: "\(folder)/media2", withIntermediateDirectories: true)
    for file in ["media/a.mp4", "media/day/b.mp4", "secret.mp4", "media2/c.mp4"] {
      try Data("x".utf8).write(to: URL(fileURLWithPath: "\(folder)/\(file)"))
    }
    try FileManager.default.createSymbolicLink(
      atPath: "\(folder)/media/out.mp4", withDestinationPath: "\(folder)/secret.mp4")
    try FileManager.default.createSymbolicLink(
      atPath: "\(folder)/media/in.mp4", withDestinationPath: "\(folder)/media/a.mp4")
    try body(folder)
  }

  private static func code(_ reach: SourceReach, _ text: String) -> VidiconError.Code? {
    do throws(VidiconError) {
      let isAudio = text == "auto" || text.hasPrefix("mic:")
      _ = try reach.resolve(
        isAudio ? .init(audio: try .init(naming: text)) : .init(video: try .init(naming: text))
      ).get()
      return nil
    } catch {
      return error.code
    }
  }

  /// The reach of a stream that has started with a source.
  private static func reach(start text: String) -> SourceReach {
    let isAudio = text.hasPrefix("mic:")
    return SourceReach(
      start: isAudio ? .init(audio: .init(stringLiteral: text)) : .init(video: .init(stringLiteral: text)),
      fileFolders: [])
  }

  @Test func `regular files below the folders are chosen, by their true paths`() throws {
    try Self.withFolders { folder in
      let reach = SourceReach(start: .init(video: "file:start.mp4"), fileFolders: ["\(folder)/media/"])
      let real = try reach.resolve(.init(video: "file:\(folder)/media/a.mp4")).get().video
      #expect(real?.name.hasSuffix("/media/a.mp4") == true)
      #expect(try reach.resolve(.init(video: "file:\(folder)/media/in.mp4")).get().video == real)
      #expect(Self.code(reach, "file:\(folder)/media/day/../day/b.mp4") == nil)
      for path in [
        "media/out.mp4", "media/../secret.mp4", "secret.mp4", "media", "media/day", "media2/c.mp4", "media/none.mp4",
      ] {
        #expect(Self.code(reach, "file:\(folder)/\(path)") == .notPermitted, "\(path)")
      }
      for text in [
        "file:/etc/passwd", "file:concat:\(folder)/media/a.mp4", "file:http://127.0.0.1/a.mp4",
        "file:subfile,,start,0,end,9,,:/etc/passwd", "file:/dev/zero",
      ] {
        #expect(Self.code(reach, text) == .notPermitted, "\(text)")
      }
      // Names that no catalog but one of the program's own knows.
      for text in ["FILE:/etc/passwd", "file:"] {
        #expect(throws: VidiconError.self) { try SourceCatalog.all.open(.init(video: try .init(naming: text))) }
      }
      #expect(
        Self.code(SourceReach(start: SourceSelection(), fileFolders: []), "file:\(folder)/media/a.mp4") == .notPermitted
      )
      #expect(Self.code(reach, "file:start.mp4") == nil, "the owner chose it")
    }
  }

  @Test(arguments: [
    ("rtsp://169.254.169.254/x", VidiconError.Code.notPermitted), ("http://[fe80::1%25eth0]/x", .notPermitted),
    ("http://2852039166/latest", .notPermitted), ("http://[::ffff:169.254.1.1]:80/x", .notPermitted),
    ("http://[fd00:ec2::254]/x", .notPermitted), ("rtsp://192.168.1.9/x", nil), ("http://127.0.0.1:1/x", nil),
    ("rtsp://", .invalidSpecification), ("http://0xa9.0376.43518/x", .notPermitted),
    ("http://0.0.0.0:1/x", .notPermitted),
    ("http://0/x", .notPermitted), ("http://[::]:1/x", .notPermitted), ("http://[::1]:1/x", nil),
    ("http://168.63.129.16/x", .notPermitted), ("http://[fd20:ce::254]/x", .notPermitted),
  ])
  func `link-local and metadata addresses are refused in every form`(text: String, code: VidiconError.Code?) {
    #expect(Self.code(SourceReach(start: SourceSelection(), fileFolders: []), text) == code)
    #expect(Self.code(Self.reach(start: text), text) == (code == .invalidSpecification ? code : nil))
    let open = SourceReach(start: SourceSelection(), fileFolders: [], allowsLinkLocal: true)
    #expect(Self.code(open, text) == (code == .notPermitted ? nil : code))
  }

  @Test(arguments: [
    ("screen:", true), ("screen::0", true), ("screen::0.1?region=1,2,3,4", true), ("screen:cam:0", false),
    ("screen:169.254.169.254:80", false), ("screen:localhost:10.0", false), ("screen:[::1]:0", false),
    ("screen:unix:0", false), ("screen:/tmp/x:0", false), ("screen:tcp/cam:0", false), ("mic:", true),
    ("mic:C920", true),
    ("mic:hw:1,0", true), ("mic:plughw:CARD=C920,DEV=0?rate=48000", true), ("mic:pulse", true),
    ("mic:pipewire:cam", false),
    ("mic:shm:cam,0", false), ("mic:oss:/dev/dsp", false), ("mic:plug:shm", false), ("mic:/etc/passwd", false),
    ("v4l2:", true), ("v4l2:C920", true), ("v4l2:/dev/video0?fps=30", true), ("v4l2:/dev/v4l/by-id/x", true),
    ("v4l2:/dev/watchdog", false), ("v4l2:/etc/passwd", false), ("v4l2:/dev/v4l/../watchdog", false),
    ("srt://cam:9000", true), ("srt://cam:9000?mode=caller&latency=1", true), ("srt://cam:9000?mode=listener", false),
    ("srt://cam:9000?latency=1&mode=rendezvous", false), ("plasma", true), ("auto", true),
  ])
  func `displays of other machines, other devices and listening ports are the owner's to choose`(
    text: String, isAllowed: Bool
  ) {
    var reach = SourceReach(start: SourceSelection(), fileFolders: [])
    reach.allowsLinkLocal = true
    #expect(Self.code(reach, text) == (isAllowed ? nil : .notPermitted))
    #expect(Self.code(Self.reach(start: text), text) == nil)
  }

  @Test func `a client's file is a media container, not a playlist`() throws {
    try Self.withFolders { folder in
      let film = try TestMedia.flashAndBeep()
      try FileManager.default.copyItem(atPath: film, toPath: "\(folder)/media/film.mp4")
      let list = "\(folder)/media/list.mp4"
      try "ffconcat version 1.0\nfile film.mp4\n".write(toFile: list, atomically: true, encoding: .utf8)
      for (path, isConfined, isOpened) in [
        ("\(folder)/media/film.mp4", true, true), (list, false, true), (list, true, false),
      ] {
        let sources = try? Sources(
          SourceSpecification(video: .file(path: path), audio: .none), devices: SystemDevices(), loop: false,
          isConfined: isConfined)
        #expect((sources != nil) == isOpened, "\(path) \(isConfined)")
      }
    }
  }
}
