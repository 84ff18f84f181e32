import Capture
import Foundation
import Media
import MediaInput
import Synchronization
import TestSupport
import Testing
import Threading

@Suite("Network source", .timeLimit(.minutes(5)))
struct NetworkSourceTests {
  static let folder = TestMedia.folder.path

  /// A folder with an HLS presentation of 12 s in segments of 2 s: H.264 with B-frames, and audio.
  static func segments() throws -> String {
    try TestMedia.path(
      "hls.m3u8",
      [
        "-f", "lavfi", "-i", "testsrc=s=160x96:r=25:d=12", "-f", "lavfi", "-i", "sine=f=440:r=48000:d=12",
        "-pix_fmt", "yuv420p", "-preset", "ultrafast", "-bf", "2", "-g", "50", "-b:a", "64k", "-hls_time", "2",
        "-hls_list_size", "0", "-f", "hls",
      ])
  }

  static func url(_ server: LocalServer, _ path: String) -> String {
    "http://127.0.0.1:\(server.port)/\(path)"
  }

  @Test func `segments that arrive in bursts are delivered unchanged, at their own pace`() throws {
    _ = try Self.segments()
    let server = try LocalServer.files(in: Self.folder)
    let source = try NetworkSource(url: Self.url(server, "hls.m3u8"))
    let (video, audio) = (try #require(source.video), try #require(source.audio))
    #expect(video.format.width == 160 && video.format.height == 96 && video.format.frameRate == 25)
    #expect(audio.format == AudioFormat(sampleRate: 48_000, channelCount: 1))
    let (videoCollector, audioCollector) = (SampleCollector(), AudioCollector())
    let start = StreamClock.system.now()
    try video.start(consumer: videoCollector)
    try audio.start(consumer: audioCollector)
    let state = videoCollector.wait { $0.samples.count >= 75 }
    let elapsed = StreamClock.system.now() - start
    let blocks = audioCollector.blocks(samples: 48_000)
    video.stop()
    audio.stop()
    #expect(!video.isStarted && !audio.isStarted)
    #expect(state.samples.count >= 75 && state.frameCount == 0)
    #expect(elapsed > .milliseconds(2_700))
    #expect(onQuietMachine(elapsed < .milliseconds(6_000)))
    let times = state.samples.map(\.decodeTime)
    #expect(zip(times, times.dropFirst()).allSatisfy { abs(($1 - $0).nanoseconds - 40_000_000) < 1_000_000 })
    #expect(state.samples.contains { $0.presentationTime > $0.decodeTime })
    #expect(state.samples.allSatisfy { $0.presentationTime >= $0.decodeTime })
    for (sample, arrival) in zip(state.samples, state.arrivals) { #expect(arrival >= sample.decodeTime) }
    let keyframes = state.samples.indices.filter { state.samples[$0].isKeyframe }
    #expect(keyframes.first == 0)
    #expect(keyframes.dropFirst().first == 50)
    #expect(state.descriptions.count == 1)
    // Video and audio begin together in the file.
    let first = try #require(blocks.first).timestamp
    #expect(abs((first - state.samples[0].presentationTime).nanoseconds) < 150_000_000)
  }

  @Test func `other codecs are decoded`() throws {
    _ = try TestMedia.path(
      "mpeg4.ts",
      ["-f", "lavfi", "-i", "testsrc=s=160x96:r=25:d=3", "-c:v", "mpeg2video", "-pix_fmt", "yuv422p", "-f", "mpegts"])
    let server = try LocalServer.files(in: Self.folder)
    let source = try NetworkSource(url: Self.url(server, "mpeg4.ts"))
    let video = try #require(source.video)
    #expect(source.audio == nil)
    let videoCollector = SampleCollector()
    try video.start(consumer: videoCollector)
    let state = videoCollector.wait { $0.frameCount >= 25 }
    video.stop()
    #expect(state.samples.isEmpty && state.frameCount >= 25)
    let frame = try #require(state.frames.first)
    #expect(frame.format.pixelFormat == .i420 && frame.format.width == 160 && frame.format.height == 96)
    let times = state.frames.map(\.timestamp)
    #expect(zip(times, times.dropFirst()).allSatisfy { abs(($1 - $0).nanoseconds - 40_000_000) < 1_000_000 })
  }

  @Test func `frames before an edit list starts are not shown, and those from a keyframe on are passed through`()
    throws
  {
    let colors = "color=black:s=160x96:r=25:d=2[black];color=white:s=160x96:r=25:d=6[white];[black][white]concat"
    let whole = try TestMedia.path(
      "whole.mp4",
      [
        "-filter_complex", colors, "-c:v", "libx264", "-bf", "0", "-pix_fmt", "yuv420p", "-x264-params",
        "keyint=300:scenecut=0", "-force_key_frames", "0,4",
      ])
    _ = try TestMedia.path(
      "cut.mp4", ["-ss", "2.4", "-i", whole, "-c", "copy", "-movflags", "+faststart", "-f", "mp4"])
    let server = try LocalServer.files(in: Self.folder)
    let source = try NetworkSource(url: Self.url(server, "cut.mp4"))
    let video = try #require(source.video)
    let collector = SampleCollector()
    try video.start(consumer: collector)
    let state = collector.wait { $0.samples.count >= 10 }
    video.stop()
    // From 2.4 to 4 s.
    #expect(state.frameCount == 40 && state.samples.first?.isKeyframe == true)
    #expect(state.frames.count == 5 && state.frames.allSatisfy { pixels($0)[48 * 160 + 80] > 200 })
  }

  @Test func `audio that begins after the opening of its connection has ended is heard from its time on`() throws {
    _ = try TestMedia.path(
      "late_audio.ts",
      [
        "-f", "lavfi", "-i", "color=lime:s=160x96:r=25:d=9", "-itsoffset", "6", "-f", "lavfi", "-i",
        "sine=440:r=44100:d=3", "-c:v", "libx264", "-pix_fmt", "yuv420p", "-bf", "0", "-g", "25", "-c:a", "aac", "-f",
        "mpegts",
      ])
    let server = try LocalServer.files(in: Self.folder)
    let source = try NetworkSource(url: Self.url(server, "late_audio.ts"))
    let (video, audio) = (try #require(source.video), try #require(source.audio))
    #expect(audio.format == AudioFormat(sampleRate: 48_000, channelCount: 2))
    let (videoCollector, audioCollector) = (SampleCollector(), AudioCollector())
    try video.start(consumer: videoCollector)
    try audio.start(consumer: audioCollector)
    let blocks = audioCollector.blocks(samples: 48_000)
    let state = videoCollector.wait { $0.samples.count >= 25 }
    video.stop()
    audio.stop()
    let (first, start) = (try #require(blocks.first), try #require(state.samples.first?.presentationTime))
    #expect(abs((first.timestamp - start).seconds - 6) < 0.2)
    #expect(abs(blocks.tone() - 440) < 2)
    for (block, next) in zip(blocks, blocks.dropFirst()) {
      #expect(abs((next.timestamp - block.timestamp - block.duration).seconds) < 0.005)
    }
  }

  @Test func `a lost connection is reported once, and is re-established`() throws {
    _ = try Self.segments()
    _ = try TestMedia.path(
      "small.ts", ["-i", Self.folder + "/hls.m3u8", "-t", "2", "-c", "copy", "-muxdelay", "0", "-f", "mpegts"])
    let server = try LocalServer.files(in: Self.folder)
    let port = server.port
    let source = try NetworkSource(url: Self.url(server, "small.ts"))
    let video = try #require(source.video)
    let videoCollector = SampleCollector()
    try video.start(consumer: videoCollector)
    // The end of the file is the first connection loss; the source reconnects.
    let again = videoCollector.wait { $0.samples.count > 60 }
    #expect(again.ends.count == 1)
    #expect(again.ends.first??.cause == "the stream has ended")
    #expect(again.samples.count > 60)
    server.stop()
    let lost = videoCollector.wait { $0.ends.count == 2 }
    #expect(lost.ends.count == 2)
    let count = videoCollector.state.withLock { $0.samples.count }
    let back = try LocalServer.files(in: Self.folder, port: port)
    let resumed = videoCollector.wait { $0.samples.count > count + 10 }
    #expect(resumed.samples.count > count + 10)
    #expect(resumed.ends.count == 2)
    video.stop()
    back.stop()
    let times = resumed.samples.map(\.decodeTime)
    #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 })
  }

  @Test func `a change of the source's size is announced`() throws {
    let folder = Self.folder + "/changing"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let sizes = try ["64x48", "96x64"].map { size in
      try TestMedia.path(
        "size-\(size).ts",
        ["-f", "lavfi", "-i", "testsrc=s=\(size):r=25:d=1", "-c:v", "mpeg2video", "-f", "mpegts"])
    }
    try FileManager.default.copyItem(atPath: sizes[0], toPath: folder + "/a.ts")
    let server = try LocalServer.files(in: folder)
    let source = try NetworkSource(url: Self.url(server, "a.ts"))
    let video = try #require(source.video)
    let videoCollector = SampleCollector()
    try video.start(consumer: videoCollector)
    _ = videoCollector.wait { $0.frameCount > 0 }
    try FileManager.default.removeItem(atPath: folder + "/a.ts")
    try FileManager.default.copyItem(atPath: sizes[1], toPath: folder + "/a.ts")
    let changed = videoCollector.wait { !$0.formats.isEmpty }
    video.stop()
    #expect(changed.formats.map(\.width) == [96])
    #expect(video.format.width == 96 && video.format.height == 64)
  }

  @Test func `an error is reported in one line, without the password`() throws {
    func server(_ answer: String) throws -> LocalServer {
      try LocalServer { connection in
        _ = connection.readHead()
        connection.write(answer)
      }
    }
    let cases: [(String, VidiconError.Code, String)] = [
      (
        "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"a\"\r\n\r\n", .notPermitted,
        "the user name or password is wrong"
      ),
      ("HTTP/1.1 403 Forbidden\r\n\r\n", .notPermitted, "403"),
      ("HTTP/1.1 404 Not Found\r\n\r\n", .notFound, "404"),
      ("HTTP/1.1 500 Oops\r\n\r\n", .failed, "5xx"),
      ("HTTP/1.1 200 OK\r\n\r\n", .failed, "the connection was lost"),
      ("HTTP/1.1 200 OK\r\n\r\n" + String(repeating: "garbage", count: 100_000), .invalidData, "cannot be parsed"),
      ("HTTP/1.1 200 OK\r\n\r\n#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n#EXT-X-ENDLIST\n", .failed, ""),
    ]
    for (answer, code, cause) in cases {
      let server = try server(answer)
      let error = #expect(throws: VidiconError.self) {
        try NetworkSource(url: "http://user:secret@127.0.0.1:\(server.port)/live?key=secret")
      }
      #expect(error?.code == code, "\(answer.prefix(30)): \(error?.description ?? "")")
      #expect(
        cause.isEmpty || error?.cause.contains(cause) == true,
        "\(error?.description ?? "")")
      #expect(error?.description.contains("secret") == false)
    }
    let closed = try LocalServer { _ in }
    let port = closed.port
    closed.stop()
    let refused = #expect(throws: VidiconError.self) { try NetworkSource(url: "rtsp://user:secret@127.0.0.1:\(port)/") }
    #expect(refused?.code == .failed)
    #expect(refused?.description.contains("secret") == false)
  }

  @Test func `a source that stops sending can be stopped at once`() throws {
    _ = try Self.segments()
    let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: Self.folder + "/hls0.ts")))
    let server = try LocalServer { connection in
      _ = connection.readHead()
      connection.write("HTTP/1.1 200 OK\r\n\r\n")
      connection.write(bytes)
      connection.waitForEnd()
    }
    let source = try NetworkSource(url: Self.url(server, "live.ts"))
    let video = try #require(source.video)
    let videoCollector = SampleCollector()
    try video.start(consumer: videoCollector)
    let state = videoCollector.wait { $0.samples.count >= 20 }
    #expect(state.samples.count >= 20)
    let before = StreamClock.system.now()
    video.stop()
    #expect(onQuietMachine(StreamClock.system.now() - before < .seconds(1)))
    let count = videoCollector.state.withLock { $0.samples.count }
    // Started again, the source reconnects.
    try video.start(consumer: videoCollector)
    #expect(videoCollector.wait { $0.samples.count > count }.samples.count > count)
    video.stop()
  }

  @Test func `a transport stream that is joined before a rare keyframe is waited for, over the same connection`() throws
  {
    let path = try TestMedia.path(
      "rare.ts",
      [
        "-f", "lavfi", "-i", "testsrc=s=160x96:r=25:d=12", "-pix_fmt", "yuv420p", "-c:v", "libx264", "-preset",
        "ultrafast", "-bf", "0",
        "-x264-params", "keyint=175:min-keyint=175:scenecut=0", "-f", "mpegts",
      ])
    let packets = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    let (start, middle) = (packets.count / 188 / 8 * 188, packets.count / 188 / 2 * 188)
    let connections = Mutex(0)
    let isOpen = DispatchSemaphore(value: 0)
    let server = try LocalServer { connection in
      connections.withLock { $0 += 1 }
      _ = connection.readHead()
      connection.write("HTTP/1.1 200 OK\r\n\r\n")
      // Up to before the keyframe at seven seconds.
      connection.write(packets[start..<middle])
      _ = isOpen.wait(timeout: .now() + 300)
      connection.write(packets[middle...])
      connection.waitForEnd()
    }
    let source = try NetworkSource(url: Self.url(server, "rare.ts"))
    isOpen.signal()
    let video = try #require(source.video)
    #expect(video.format.width == 1280 && video.format.height == 720, "presumed")
    let collector = SampleCollector()
    try video.start(consumer: collector)
    let state = collector.wait { $0.samples.count >= 50 }
    video.stop()
    #expect(state.samples.first?.isKeyframe == true && state.ends.isEmpty)
    guard case .h264(let description)? = state.descriptions.first else {
      Issue.record("no description")
      return
    }
    #expect(description.width == 160 && description.height == 96)
    #expect(connections.withLock { $0 } == 1)
  }

  @Test func `endless responses use bounded memory, and are given up`() throws {
    let lines = Array(String(repeating: "X-Header: \(String(repeating: "x", count: 1_000))\r\n", count: 64).utf8)
    let headers = try LocalServer { connection in
      _ = connection.readHead()
      connection.write("HTTP/1.1 200 OK\r\n")
      while connection.write(lines) {}
    }
    let start = StreamClock.system.now()
    let error = #expect(throws: VidiconError.self) { try NetworkSource(url: Self.url(headers, "a.ts")) }
    #expect(error?.code == .failed)
    #expect(onQuietMachine(StreamClock.system.now() - start < .seconds(15)))
  }
}
