import Foundation
import Media
import MediaInput
import Synchronization
import TestSupport
import Testing
import Threading

@Suite("Pipe capturer", .timeLimit(.minutes(5)))
struct PipeCapturerTests {
  /// A pipe whose write end is fed by a thread.
  final class Feed: Sendable {
    let readEnd: Int32
    private let writeEnd: Mutex<Int32?>

    init() {
      var ends: [Int32] = [-1, -1]
      let status = pipe(&ends)
      precondition(status == 0, "the test has file descriptors left")
      signal(SIGPIPE, SIG_IGN)
      self.readEnd = ends[0]
      self.writeEnd = Mutex(ends[1])
    }

    deinit {
      self.finish()
      close(self.readEnd)
    }

    /// Writes bytes that fit into the pipe's buffer.
    func write(_ bytes: [UInt8]) {
      self.writeEnd.withLock { end in
        guard let end else { return }
        precondition(Glibc.write(end, bytes, bytes.count) == bytes.count, "the pipe has room")
      }
    }

    func finish() {
      self.writeEnd.withLock { end in
        if let open = end { close(open) }
        end = nil
      }
    }
  }

  private static let header = "YUV4MPEG2 W16 H16 F200:1 Ip C420jpeg\n"

  private static func frame(_ luma: UInt8, line: String = "FRAME\n", count: Int = 384) -> [UInt8] {
    Array(line.utf8) + Array(repeating: luma, count: min(count, 256))
      + Array(repeating: 128, count: max(count - 256, 0))
  }

  @Test func `frames are delivered in order with their arrival times, and the end is reported`() throws {
    let feed = Feed()
    feed.write(Array(Self.header.utf8) + (1...5).flatMap { Self.frame($0) })
    feed.finish()
    let capturer = try PipeCapturer(fileDescriptor: feed.readEnd)
    #expect(capturer.format == VideoFormat(width: 16, height: 16, frameRate: FrameRate(200)))
    let before = StreamClock.system.now()
    let collector = FrameCollector()
    try capturer.start(consumer: collector)
    #expect(collector.end() == .some(.none))
    #expect(capturer.isStarted)
    capturer.stop()
    #expect(!capturer.isStarted)
    let frames = collector.frames(5)
    #expect(frames.map { pixels($0)[255] } == [1, 2, 3, 4, 5])
    #expect(pixels(frames[0], plane: 2) == Array(repeating: 128, count: 64))
    // All frames were in the pipe: none is delivered earlier than the frame rate allows, however late others are.
    for (index, frame) in frames.enumerated() {
      #expect(frame.timestamp - frames[0].timestamp >= .milliseconds(5) * Int64(index))
    }
    #expect(frames[0].timestamp >= before)
    #expect(collector.state.withLock { zip($0.frames, $0.arrivals).allSatisfy { $0.timestamp <= $1 } })
  }

  @Test func `bytes that arrive one by one make the same frames`() throws {
    let feed = Feed()
    let bytes = Array(Self.header.utf8) + Self.frame(7, line: "FRAME Ip XFOO\n") + Self.frame(8)
    let writer = Thread {
      for byte in bytes { feed.write([byte]) }
      feed.finish()
    }
    writer.start()
    let capturer = try PipeCapturer(fileDescriptor: feed.readEnd)
    let collector = FrameCollector()
    try capturer.start(consumer: collector)
    #expect(collector.end() == .some(.none))
    capturer.stop()
    #expect(collector.frames(2).map { pixels($0)[0] } == [7, 8])
  }

  @Test(arguments: [
    ("C422", 512), ("C444", 768), ("Cmono", 256), ("C411", 384), ("C420 XCOLORRANGE=FULL", 384),
  ])
  func `other chroma samplings and ranges are converted`(parameter: String, count: Int) throws {

    let feed = Feed()
    feed.write(Array("YUV4MPEG2 W16 H16 F100:1 \(parameter)\n".utf8) + Self.frame(200, count: count))
    feed.finish()
    let capturer = try PipeCapturer(fileDescriptor: feed.readEnd)
    let collector = FrameCollector()
    try capturer.start(consumer: collector)
    #expect(collector.end() == .some(.none))
    capturer.stop()
    let frame = try #require(collector.frames(1).first)
    #expect(frame.format.pixelFormat == .i420)
    let expected = parameter.hasSuffix("FULL") ? 188 : 200
    #expect(abs(Int(pixels(frame)[100]) - expected) <= 1, "\(pixels(frame)[100])")
    #expect(abs(Int(pixels(frame, plane: 1)[30]) - 128) <= 1)
  }

  @Test func `an incomplete last frame is skipped`() throws {
    for cut in [1, 5, 6, 7, 200, 389] {
      let feed = Feed()
      feed.write(Array(Self.header.utf8) + Self.frame(1) + Self.frame(2).prefix(cut))
      feed.finish()
      let capturer = try PipeCapturer(fileDescriptor: feed.readEnd)
      let collector = FrameCollector()
      try capturer.start(consumer: collector)
      #expect(collector.end() == .some(.none))
      capturer.stop()
      #expect(collector.frames(1).map { pixels($0)[0] } == [1])
    }
  }

  @Test func `a header with a wrong size is an error before any frame is delivered`() throws {
    for (bytes, cause) in [
      (Self.frame(1, count: 300), "within its first frame"), (Self.frame(1, count: 390) + Self.frame(2), "no frame"),
      (Self.frame(1) + Array("FRAMES\n".utf8), "no frame"), (Array("frame\n".utf8), "no frame"),
    ] {
      let feed = Feed()
      feed.write(Array(Self.header.utf8) + bytes)
      feed.finish()
      let capturer = try PipeCapturer(fileDescriptor: feed.readEnd)
      let collector = FrameCollector()
      try capturer.start(consumer: collector)
      let ended = try #require(collector.end())
      let error = try #require(ended)
      #expect(error.code == .invalidData)
      #expect(error.cause.contains(cause), "\(error.cause)")
      #expect(error.cause.contains("W16 H16"))
      capturer.stop()
      #expect(collector.frames(0).isEmpty)
    }
  }

  @Test func `input that is not YUV4MPEG2 is an error at once`() throws {
    for (bytes, cause) in [
      ([], "it is empty"), (Array("YUV4MPEG2 W16 H16".utf8), "within the YUV4MPEG2 header"),
      (Array("<html>, not video\n".utf8), "does not begin with YUV4MPEG2"),
      (Array("YUV4MPEG2 ".utf8) + Array(repeating: 0x20, count: 2_000), "has no end"),
    ] as [([UInt8], String)] {
      let feed = Feed()
      feed.write(bytes)
      feed.finish()
      let error = #expect(throws: VidiconError.self) { try PipeCapturer(fileDescriptor: feed.readEnd) }
      #expect(error?.cause.contains(cause) == true, "\(error?.cause ?? "")")
    }
    #expect(throws: VidiconError.self) { try PipeCapturer(fileDescriptor: 9_999) }
  }

  @Test func `stop does not wait for the writer, and a restart continues with the next complete frame`() throws {
    let feed = Feed()
    feed.write(Array(Self.header.utf8) + Self.frame(1) + Self.frame(2) + Self.frame(3).prefix(100))
    let capturer = try PipeCapturer(fileDescriptor: feed.readEnd)
    let first = FrameCollector()
    try capturer.start(consumer: first)
    #expect(first.frames(2).map { pixels($0)[0] } == [1, 2])
    let before = StreamClock.system.now()
    capturer.stop()
    #expect(onQuietMachine(StreamClock.system.now() - before < .seconds(5)))
    feed.write(Array(Self.frame(3)[100...]) + Self.frame(4) + Self.frame(5))
    feed.finish()
    let second = FrameCollector()
    try capturer.start(consumer: second)
    #expect(second.end() == .some(.none))
    capturer.stop()
    let rest = second.frames(2).map { pixels($0)[0] }
    // Depends on timing: frame 3 may have been partly read when the capturer was stopped.
    #expect(rest == [4, 5] || rest == [3, 4, 5])
    #expect(first.state.withLock { $0.ends.isEmpty })
  }

  @Test func `a consumer that retains all frames does not block reading`() throws {
    let feed = Feed()
    feed.write(Array(Self.header.utf8) + (1...20).flatMap { Self.frame($0) })
    feed.finish()
    let capturer = try PipeCapturer(fileDescriptor: feed.readEnd)
    let collector = FrameCollector()
    try capturer.start(consumer: collector)
    #expect(collector.end() == .some(.none))
    capturer.stop()
    #expect(collector.frames(8).map { pixels($0)[0] } == [1, 2, 3, 4, 5, 6, 7, 8])
  }

  @Test func `unpaced output of ffmpeg is paced to the frame rate`() throws {
    let feed = Pipe()
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments =
      ["ffmpeg", "-v", "error", "-nostdin", "-f", "lavfi", "-i", "testsrc2=s=320x180:r=50:d=1"]
      + ["-f", "yuv4mpegpipe", "-pix_fmt", "yuv420p", "-"]
    process.standardOutput = feed
    try process.run()
    try feed.fileHandleForWriting.close()
    let capturer = try PipeCapturer(fileDescriptor: feed.fileHandleForReading.fileDescriptor)
    let collector = FrameCollector(keep: 0)
    let started = StreamClock.system.now()
    try capturer.start(consumer: collector)
    #expect(collector.end() == .some(.none))
    capturer.stop()
    process.waitUntilExit()
    let arrivals = collector.state.withLock { $0.arrivals }
    #expect(arrivals.count == 50)
    #expect(try #require(arrivals.last) - started >= .milliseconds(49 * 20))
  }
}
