internal import CLibav
internal import Codecs
internal import Media
internal import Threading

/// Reads the frames of a YUV4MPEG2 stream from a pipe.
///
/// Keeps its position: after an interruption within a frame the next read continues with the following frame.
struct Y4MStream {
  /// Result of a read.
  enum Outcome {
    case complete
    case end
    case interrupted
    case failed(VidiconError)
  }

  private let header: Y4MHeader
  /// Format of the frames, in square pixels; another one where another stream follows.
  let format: VideoFormat
  /// Whether a frame ended where the header says.
  var isVerified = false
  /// Whether a frame was read.
  private var hasRead = false
  private let source: String
  private let pool: VideoFramePool
  /// Nil when frames need no conversion.
  private var converter: SwscaleConverter?
  private var scratch: [UInt8] = []
  /// Bytes read of the line before a frame.
  private var line: [UInt8] = []
  /// Order of the fields of the frame whose line was read; nil for a progressive one.
  private var fields: FieldOrder?
  /// Whether the line was read and its frame was not.
  private var isAtFrame = false
  /// Number of unread bytes of the current frame.
  private var leftover = 0

  /// Reads the header.
  ///
  /// - Parameter head: Bytes of it that were read before; all that were read, where the read is interrupted, which throws.
  init(reader: PipeReader, source: String, after head: inout [UInt8]) throws(VidiconError) {
    // Every header has at least the magic word and a space.
    switch Self.readLine(&head, reader: reader, minimum: Y4MHeader.magic.utf8.count + 1, source: source) {
    case .complete:
      break
    case .failed(let error):
      throw error
    case .end, .interrupted:
      throw VidiconError(
        .invalidData, subject: source,
        cause: head.isEmpty ? "it is empty" : "it ended within the YUV4MPEG2 header",
        nextStep: "check the messages of the program that writes it")
    }
    self.init(try Y4MHeader(parsing: head.dropLast(), source: source), source: source)
  }

  private init(_ header: Y4MHeader, source: String) {
    self.header = header
    self.source = source
    let display = DisplaySize(
      width: header.width, height: header.height, pixel: AVRational(num: header.pixel.x, den: header.pixel.y))
    self.format = VideoFormat(
      width: display.width, height: display.height, frameRate: header.frameRate,
      colorMatrix: header.height >= 720 ? .bt709 : .bt601)
    self.pool = VideoFramePool(format: self.format)
    let isSquare = display.width == header.width && display.height == header.height
    if header.sampling != .yuv420 || header.isFullRange || header.interlacing != .none || !isSquare {
      self.converter = SwscaleConverter(format: self.format)
      self.scratch = Array(repeating: 0, count: header.frameByteCount)
    }
  }

  /// Reads the line before a frame, unless it was read already. A header in its place begins another stream: of another program that
  /// writes after the one before.
  mutating func readFrameLine(_ reader: PipeReader) -> Outcome {
    if self.isAtFrame { return .complete }
    while self.leftover > 0 {
      var count = 0
      let outcome = withUnsafeTemporaryAllocation(byteCount: min(self.leftover, 65_536), alignment: 64) {
        reader.read(into: $0, count: &count)
      }
      self.leftover -= count
      if outcome != .complete { return self.outcome(outcome) }
    }
    while true {
      let outcome = Self.readLine(&self.line, reader: reader, minimum: 6, source: self.source)
      guard case .complete = outcome else { return outcome }
      guard self.line.starts(with: Y4MHeader.magic.utf8) else { break }
      do throws(VidiconError) {
        let header = try Y4MHeader(parsing: self.line.dropLast(), source: self.source)
        self = Y4MStream(header, source: self.source)
      } catch {
        return .failed(error)
      }
    }
    defer { self.line = [] }
    guard self.line.starts(with: Array("FRAME".utf8)), self.line[5] == 0x0A || self.line[5] == 0x20 else {
      return .failed(self.invalidFrameSize)
    }
    self.fields = self.header.fields(ofFrame: self.line)
    self.isAtFrame = true
    if self.hasRead { self.isVerified = true }
    return .complete
  }

  /// Reads the frame after its line.
  ///
  /// - Parameter frame: Set to the frame; nil when the pool is exhausted and the frame is skipped.
  mutating func readFrame(_ reader: PipeReader, at time: MediaTime, into frame: inout VideoFrame?) -> Outcome {
    self.isAtFrame = false
    self.hasRead = true
    self.leftover = self.header.frameByteCount
    if let converter = self.converter {
      let outcome = self.scratch.withUnsafeMutableBytes { bytes in
        Self.read(bytes, reader: reader, leftover: &self.leftover)
      }
      guard outcome == .complete else { return self.outcome(outcome) }
      frame = self.convert(with: converter, at: time)
      return .complete
    }
    var outcome: PipeReader.Outcome?
    var leftover = self.leftover
    frame = self.pool.frame(at: time) { buffer in
      for plane in 0..<3 {
        outcome = Self.read(buffer.unsafePlane(plane), reader: reader, leftover: &leftover)
        if outcome != .complete { return }
      }
    }
    self.leftover = leftover
    if let outcome, outcome != .complete {
      frame = nil
      return self.outcome(outcome)
    }
    // Without memory for it the frame is skipped when the next line is read.
    return .complete
  }

  /// Error for a frame that is followed neither by another frame nor by the end.
  private var invalidFrameSize: VidiconError {
    VidiconError(
      .invalidData, subject: self.source,
      cause:
        "the header says W\(self.header.width) H\(self.header.height) C\(self.header.sampling.rawValue), but no frame"
        + " follows after the \(self.header.frameByteCount) bytes of one",
      nextStep: "correct the size and color space that the writing program announces")
  }

  /// Error for an input that ends within its first frame.
  var shortfall: VidiconError {
    VidiconError(
      .invalidData, subject: self.source,
      cause:
        "it ended within its first frame, which has \(self.header.frameByteCount) bytes by the header (W"
        + "\(self.header.width) H\(self.header.height) C\(self.header.sampling.rawValue))",
      nextStep: "correct the size and color space that the writing program announces")
  }

  private func convert(with converter: SwscaleConverter, at time: MediaTime) -> VideoFrame? {
    self.scratch.withUnsafeBufferPointer { bytes in
      var pointers: [UnsafePointer<UInt8>?] = []
      var rows: [Int32] = []
      var offset = 0
      for plane in self.header.planes {
        pointers.append(bytes.baseAddress.map { $0 + offset })
        rows.append(Int32(plane.width))
        offset += plane.width * plane.height
      }
      while rows.count < 3 {
        pointers.append(nil)
        rows.append(0)
      }
      return converter.convert(
        .init(
          planes: (pointers[0], pointers[1], pointers[2], nil), bytesPerRow: (rows[0], rows[1], rows[2], 0),
          width: Int32(self.header.width), height: Int32(self.header.height),
          pixelFormat: self.header.sampling.libav, isFullRange: self.header.isFullRange, fields: self.fields),
        at: time)
    }
  }

  private func outcome(_ outcome: PipeReader.Outcome) -> Outcome {
    Self.outcome(outcome, source: self.source)
  }

  private static func outcome(_ outcome: PipeReader.Outcome, source: String) -> Outcome {
    switch outcome {
    case .complete: .complete
    case .end: .end
    case .interrupted: .interrupted
    case .failed(let number):
      .failed(
        VidiconError(
          .failed, subject: source, cause: "it cannot be read (\(systemErrorMessage(number)))",
          nextStep: "check the messages of the program that writes it"))
    }
  }

  private static func read(
    _ bytes: UnsafeMutableRawBufferPointer, reader: PipeReader, leftover: inout Int
  ) -> PipeReader.Outcome {
    var count = 0
    defer { leftover -= count }
    return reader.read(into: bytes, count: &count)
  }

  /// Reads up to and including a line feed.
  ///
  /// - Parameter minimum: Minimum length of such a line in bytes, line feed included.
  private static func readLine(
    _ line: inout [UInt8], reader: PipeReader, minimum: Int, source: String
  ) -> Outcome {
    while line.last != 0x0A {
      guard line.count < Y4MHeader.maximumLength else {
        return .failed(
          VidiconError(
            .invalidData, subject: source, cause: "a YUV4MPEG2 line has no end",
            nextStep: "write it with: ffmpeg -i INPUT -f yuv4mpegpipe -pix_fmt yuv420p -"))
      }
      let start = line.count
      line += Array(repeating: 0, count: max(minimum - start, 1))
      var count = 0
      let outcome = line.withUnsafeMutableBytes { reader.read(into: .init(rebasing: $0[start...]), count: &count) }
      line.removeLast(line.count - start - count)
      if outcome != .complete { return Self.outcome(outcome, source: source) }
    }
    return .complete
  }
}

extension Y4MHeader.Sampling {
  /// FFmpeg's pixel format.
  fileprivate var libav: AVPixelFormat {
    switch self {
    case .yuv420: AV_PIX_FMT_YUV420P
    case .yuv422: AV_PIX_FMT_YUV422P
    case .yuv444: AV_PIX_FMT_YUV444P
    case .yuv411: AV_PIX_FMT_YUV411P
    case .mono: AV_PIX_FMT_GRAY8
    }
  }
}
