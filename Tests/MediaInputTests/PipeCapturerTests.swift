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
  final class TestPipe: Sendable {
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
    let input = TestPipe()
    input.write(Array(Self.header.utf8) + (1...5).flatMap { Self.frame($0) })
    input.finish()
    let capturer = try PipeCapturer(fileDescriptor: input.readEnd)
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
    let input = TestPipe()
    let bytes = Array(Self.header.utf8) + Self.frame(7, line: "FRAME Ip XFOO\n") + Self.frame(8)
    let writer = Thread {
      for byte in bytes { input.write([byte]) }
      input.finish()
    }
    writer.start()
    let capturer = try PipeCapturer(fileDescriptor: input.readEnd)
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

    let input = TestPipe()
    input.write(Array("YUV4MPEG2 W16 H16 F100:1 \(parameter)\n".utf8) + Self.frame(200, count: count))
    input.finish()
    let capturer = try PipeCapturer(fileDescriptor: input.readEnd)
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

  /// The frames of a stream that is written at once.
  private static func frames(_ count: Int, _ header: String, _ bytes: [UInt8]) throws -> (VideoFormat, [VideoFrame]) {
    let input = TestPipe()
    input.write(Array("YUV4MPEG2 F100:1 \(header)\n".utf8) + bytes)
    input.finish()
    let capturer = try PipeCapturer(fileDescriptor: input.readEnd)
    let collector = FrameCollector()
    try capturer.start(consumer: collector)
    #expect(collector.end() == .some(.none))
    capturer.stop()
    let frames = collector.frames(count)
    try #require(frames.count == count)
    return (capturer.format, frames)
  }

  @Test(arguments: [
    ("A64:45", 128, 32), ("A2:1", 180, 32), ("A1:2", 90, 64), ("A1:1", 90, 32), ("A0:0", 90, 32), ("", 90, 32),
    // No camera has such pixels.
    ("A64:1", 90, 32),
  ])
  func `pixels that are not square are made square`(parameter: String, width: Int, height: Int) throws {
    // A white box over a fifth of the width and half of the height, in the middle.
    let luma: [UInt8] = (0..<32).flatMap { y in
      (0..<90).map { x in (36..<54).contains(x) && (8..<24).contains(y) ? 235 : 16 }
    }
    let (format, frames) = try Self.frames(
      1, "W90 H32 \(parameter)", Array("FRAME\n".utf8) + luma + Array(repeating: 128, count: 90 * 16))
    #expect(format.width == width && format.height == height && format.pixelFormat == .i420)
    #expect(frames[0].format.width == width && frames[0].format.height == height)
    let shown = pixels(frames[0])
    let row = (0..<width).filter { shown[height / 2 * width + $0] > 125 }
    let column = (0..<height).filter { shown[$0 * width + width / 2] > 125 }
    #expect(abs(row.count - width / 5) <= 2 && abs((row.first ?? 0) - width * 2 / 5) <= 2, "\(row)")
    #expect(abs(column.count - height / 2) <= 2 && abs((column.first ?? 0) - height / 4) <= 2, "\(column)")
  }

  @Test(arguments: [
    ("It", "", 0), ("Ib", "", 1), ("Im", " Iti", 0), ("Im", " Ibi", 1), ("It C422", "", 0), ("It Cmono", "", 0),
    ("It A2:1", "", 0),
  ])
  func `interlaced frames have the lines of the first field, and no others`(
    parameter: String, line: String, first: Int
  ) throws {
    // The other field is darker than the first one and brighter in turn, as where something moves.
    func frame(_ number: Int) -> [UInt8] {
      let other: UInt8 = number % 2 == 0 ? 40 : 235
      let luma: [UInt8] = (0..<16).flatMap { Array(repeating: $0 % 2 == first ? 200 : other, count: 16) }
      let chroma = parameter.contains("mono") ? 0 : parameter.contains("422") ? 256 : 128
      return Array("FRAME\(line)\n".utf8) + luma + Array(repeating: 128, count: chroma)
    }
    let (_, frames) = try Self.frames(4, "W16 H16 \(parameter)", (0..<4).flatMap { frame($0) })
    for frame in frames {
      let worst = pixels(frame).map { abs(Int($0) - 200) }.max() ?? .max
      #expect(worst <= 1, "\(pixels(frame).prefix(64))")
    }
  }

  @Test(arguments: [("Ip", ""), ("I?", ""), ("Im", " I1p"), ("Im", " Itp")])
  func `progressive frames keep all lines`(parameter: String, line: String) throws {
    let luma: [UInt8] = (0..<16).flatMap { Array(repeating: $0 % 2 == 0 ? 40 : 200, count: 16) }
    let bytes = Array("FRAME\(line)\n".utf8) + luma + Array(repeating: 128, count: 128)
    let (_, frames) = try Self.frames(2, "W16 H16 \(parameter)", bytes + bytes)
    #expect(frames.allSatisfy { pixels($0) == luma })
  }

  @Test func `an incomplete last frame is skipped`() throws {
    for cut in [1, 5, 6, 7, 200, 389] {
      let input = TestPipe()
      input.write(Array(Self.header.utf8) + Self.frame(1) + Self.frame(2).prefix(cut))
      input.finish()
      let capturer = try PipeCapturer(fileDescriptor: input.readEnd)
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
      let input = TestPipe()
      input.write(Array(Self.header.utf8) + bytes)
      input.finish()
      let capturer = try PipeCapturer(fileDescriptor: input.readEnd)
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
      let input = TestPipe()
      input.write(bytes)
      input.finish()
      let error = #expect(throws: VidiconError.self) { try PipeCapturer(fileDescriptor: input.readEnd) }
      #expect(error?.cause.contains(cause) == true, "\(error?.cause ?? "")")
    }
    #expect(throws: VidiconError.self) { try PipeCapturer(fileDescriptor: 9_999) }
  }

  @Test func `stop does not wait for the writer, and a restart continues with the next complete frame`() throws {
    let input = TestPipe()
    input.write(Array(Self.header.utf8) + Self.frame(1) + Self.frame(2) + Self.frame(3).prefix(100))
    let capturer = try PipeCapturer(fileDescriptor: input.readEnd)
    let first = FrameCollector()
    try capturer.start(consumer: first)
    #expect(first.frames(2).map { pixels($0)[0] } == [1, 2])
    let before = StreamClock.system.now()
    capturer.stop()
    #expect(onQuietMachine(StreamClock.system.now() - before < .seconds(5)))
    input.write(Array(Self.frame(3)[100...]) + Self.frame(4) + Self.frame(5))
    input.finish()
    let second = FrameCollector()
    try capturer.start(consumer: second)
    #expect(second.end() == .some(.none))
    capturer.stop()
    let rest = second.frames(2).map { pixels($0)[0] }
    // Depends on timing: frame 3 may have been partly read when the capturer was stopped.
    #expect(rest == [4, 5] || rest == [3, 4, 5])
    #expect(first.state.withLock { $0.ends.isEmpty })
  }

  @Test func `a pipe whose writer pauses is not lost, and its end is reported`() throws {
    let input = TestPipe()
    input.write(Array(Self.header.utf8) + Self.frame(1) + Self.frame(2))
    let capturer = try PipeCapturer(fileDescriptor: input.readEnd)
    let collector = FrameCollector()
    try capturer.start(consumer: collector)
    #expect(collector.frames(2).map { pixels($0)[0] } == [1, 2])
    // A stream keeps the last frame of such a source until the report: `VideoScheduleLossTests`.
    #expect(capturer.reportsLoss && collector.state.read { $0.ends.isEmpty })
    input.write(Self.frame(3))
    #expect(collector.frames(3).map { pixels($0)[0] } == [1, 2, 3])
    #expect(collector.state.read { $0.ends.isEmpty })
    input.finish()
    #expect(collector.end() == .some(.none))
    capturer.stop()
  }

  @Test func `a program that begins to write later is waited for, and the format is announced`() throws {
    let input = TestPipe()
    let presumed = VideoFormat(width: 1280, height: 720, frameRate: FrameRate(30))
    let capturer = try PipeCapturer(fileDescriptor: input.readEnd, until: presumed, within: .zero)
    #expect(capturer.pendingFailure != nil && capturer.format == presumed)
    let collector = SampleCollector()
    try capturer.start(consumer: collector)
    let header = Array(Self.header.utf8)
    input.write(Array(header.prefix(12)))
    // Within the header, or before it.
    capturer.stop()
    #expect(collector.state.read { $0.ends.isEmpty })
    try capturer.start(consumer: collector)
    input.write(Array(header.dropFirst(12)) + (1...3).flatMap { Self.frame($0) })
    input.finish()
    let state = collector.wait { !$0.ends.isEmpty }
    capturer.stop()
    #expect(state.ends.count == 1 && state.ends.allSatisfy { $0 == nil })
    #expect(state.formats == [VideoFormat(width: 16, height: 16, frameRate: FrameRate(200))])
    #expect(state.shown.map(\.luma) == [1, 2, 3])
    #expect(capturer.format == state.formats.last)
  }

  @Test func `a stream that another program writes after the first one is shown in its own format`() throws {
    let input = TestPipe()
    let wide = Array("FRAME\n".utf8) + Array(repeating: 3, count: 512) + Array(repeating: 128, count: 256)
    input.write(
      Array(Self.header.utf8) + Self.frame(1) + Self.frame(2) + Array("YUV4MPEG2 W32 H16 F100:1\n".utf8) + wide
        + Array(Self.header.utf8) + Self.frame(4))
    input.finish()
    let capturer = try PipeCapturer(fileDescriptor: input.readEnd)
    let collector = SampleCollector()
    try capturer.start(consumer: collector)
    let state = collector.wait { !$0.ends.isEmpty }
    capturer.stop()
    #expect(state.ends.count == 1 && state.ends.allSatisfy { $0 == nil })
    #expect(state.shown.map(\.luma) == [1, 2, 3, 4] && state.frames.map(\.format.width) == [16, 16, 32, 16])
    #expect(state.formats.map(\.width) == [32, 16])
    #expect(state.formats.map(\.frameRate) == [FrameRate(100), FrameRate(200)])
  }

  @Test func `a header that comes in time has the format, and an end without one is an error`() throws {
    let input = TestPipe()
    input.write(Array(Self.header.utf8))
    let presumed = VideoFormat(width: 1280, height: 720, frameRate: FrameRate(30))
    let capturer = try PipeCapturer(fileDescriptor: input.readEnd, until: presumed, within: .seconds(300))
    #expect(capturer.pendingFailure == nil && capturer.format.width == 16)
    let silent = TestPipe()
    let waiting = try PipeCapturer(fileDescriptor: silent.readEnd, until: presumed, within: .zero)
    let collector = FrameCollector()
    try waiting.start(consumer: collector)
    silent.finish()
    let ended = try #require(collector.end())
    #expect(ended?.cause == "it is empty")
    waiting.stop()
  }

  @Test func `a consumer that retains all frames does not block reading`() throws {
    let input = TestPipe()
    input.write(Array(Self.header.utf8) + (1...20).flatMap { Self.frame($0) })
    input.finish()
    let capturer = try PipeCapturer(fileDescriptor: input.readEnd)
    let collector = FrameCollector()
    try capturer.start(consumer: collector)
    #expect(collector.end() == .some(.none))
    capturer.stop()
    #expect(collector.frames(8).map { pixels($0)[0] } == [1, 2, 3, 4, 5, 6, 7, 8])
  }

  @Test func `unpaced output of ffmpeg is paced to the frame rate`() throws {
    let input = Pipe()
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments =
      ["ffmpeg", "-v", "error", "-nostdin", "-f", "lavfi", "-i", "testsrc2=s=320x180:r=50:d=1"]
      + ["-f", "yuv4mpegpipe", "-pix_fmt", "yuv420p", "-"]
    process.standardOutput = input
    try process.run()
    try input.fileHandleForWriting.close()
    let capturer = try PipeCapturer(fileDescriptor: input.fileHandleForReading.fileDescriptor)
    let collector = FrameCollector(keep: 0)
    let started = StreamClock.system.now()
    try capturer.start(consumer: collector)
    #expect(collector.end() == .some(.none))
    capturer.stop()
    process.finish()
    let arrivals = collector.state.withLock { $0.arrivals }
    #expect(arrivals.count == 50)
    #expect(try #require(arrivals.last) - started >= .milliseconds(49 * 20))
  }
}
