import Capture
import Foundation
import Libc
import Media
import TestSupport
import Testing
import Threading

@testable import MediaInput

@Suite("Network sources that come later", .timeLimit(.minutes(5)))
struct LateNetworkSourceTests {
  private static let formats = NetworkSource.AssumedFormats(
    video: VideoFormat(width: 320, height: 180, pixelFormat: .i420, frameRate: 30),
    audio: AudioFormat(sampleRate: 48_000, channelCount: 2))

  /// Writes a file into a named pipe, at its own pace.
  private static func write(_ file: String, to fifo: String) throws -> Process {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = [
      "ffmpeg", "-v", "error", "-nostdin", "-y", "-re", "-stream_loop", "3", "-i", file, "-c", "copy", "-f", "mpegts",
      fifo,
    ]
    try process.run()
    return process
  }

  @Test func `a named pipe is played for each of its writers`() throws {
    let fifo = try TestMedia.path("late.fifo", bytes: Data())
    try FileManager.default.removeItem(atPath: fifo)
    try #require(mkfifo(fifo, 0o600) == 0)
    let film = try TestMedia.flashAndBeep()
    let source = try NetworkSource(NetworkSpecification(fifo: fifo), until: Self.formats)
    #expect(source.pendingFailure != nil)
    let video = try #require(source.video)
    #expect(video.format.width == 320)
    let collector = SampleCollector()
    try video.start(consumer: collector)
    defer { video.stop() }
    for writer in 1...2 {
      let count = collector.state.read { $0.samples.count + $0.frameCount }
      let process = try Self.write(film, to: fifo)
      defer { process.terminate() }
      let state = collector.wait { $0.samples.count + $0.frameCount > count + 10 }
      #expect(state.samples.count + state.frameCount > count + 10 && state.ends.count == writer - 1)
      process.terminate()
      #expect(collector.wait { $0.ends.count >= writer }.ends.count == writer)
    }
  }

  @Test func `a source that is not there yet does not end, and a wrong address is refused`() throws {
    let source = try NetworkSource(try NetworkSpecification(parsing: "rtsp://127.0.0.1:1/none"), until: Self.formats)
    #expect(source.pendingFailure?.code == .failed)
    #expect(source.audio?.format == AudioFormat(sampleRate: 48_000, channelCount: 2))
    let collector = SampleCollector()
    try #require(source.video).start(consumer: collector)
    source.video?.stop()
    #expect(collector.state.read { $0.ends.isEmpty && $0.samples.isEmpty })
    #expect(throws: VidiconError.self) {
      try NetworkSource(try NetworkSpecification(parsing: "rtsp://127.0.0.1:1/none"))
    }
  }

  /// A film in FLV (version 10.1, annex E) with 880 Hz, of whose video not even the configuration comes before 6 s.
  private static func lateCamera() throws -> String {
    let path = try TestMedia.path(
      "late-camera.flv",
      [
        "-itsoffset", "6", "-f", "lavfi", "-i", "color=white:s=160x96:r=25:d=6", "-f", "lavfi", "-i",
        "sine=880:r=48000:d=12", "-map", "0", "-map", "1", "-c:v", "libx264", "-preset", "ultrafast", "-bf", "0", "-g",
        "25", "-pix_fmt", "yuv420p", "-c:a", "aac",
      ])
    let file = [UInt8](try Data(contentsOf: URL(filePath: path)))
    // The header of the file, and the length of no tag before the first.
    var (result, configuration, position) = (Array(file.prefix(13)), [UInt8](), 13)
    while position + 15 <= file.count {
      let length = 15 + file[(position + 1)...(position + 3)].reduce(0) { $0 << 8 | Int($1) }
      let tag = Array(file[position..<min(position + length, file.count)])
      position += length
      let isVideo = tag[0] == 9
      if isVideo, tag[12] == 0 {
        configuration = tag
      } else {
        result += (isVideo ? configuration : []) + tag
        if isVideo { configuration = [] }
      }
    }
    return try TestMedia.path("later-camera.flv", bytes: Data(result))
  }

  @Test func `the audio of a source is heard from its start where its camera is switched on later`() throws {
    let name = URL(filePath: try Self.lateCamera()).lastPathComponent
    let server = try LocalServer.files(in: TestMedia.folder.path)
    let source = try NetworkSource(
      try NetworkSpecification(parsing: "http://127.0.0.1:\(server.port)/\(name)"), until: Self.formats)
    #expect(source.pendingFailure == nil)
    let (video, audio) = (SampleCollector(), AudioCollector())
    try #require(source.video).start(consumer: video)
    try #require(source.audio).start(consumer: audio)
    let state = video.wait { $0.samples.count >= 25 }
    source.video?.stop()
    source.audio?.stop()
    let blocks = audio.state.read { $0.blocks }
    let (first, heard) = (try #require(state.samples.first), try #require(blocks.first))
    #expect(first.isKeyframe && state.ends.isEmpty && abs(blocks.tone() - 880) < 5)
    #expect(abs((first.presentationTime - heard.timestamp).nanoseconds - 6_000_000_000) < 500_000_000)
    guard case .h264(let description)? = state.descriptions.first else {
      throw TestMedia.Failure(description: "no description")
    }
    #expect(description.width == 160 && description.height == 96)
  }
}
