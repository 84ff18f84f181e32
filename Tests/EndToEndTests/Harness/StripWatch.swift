import Foundation
import Testing

/// Frames with a timecode strip as an RTSP viewer has decoded them, with the times of their capture and of their arrival.
struct StripWatch: Sendable {
  /// A decoded frame whose strip was readable. Times are of the wall clock, in microseconds since 1970.
  struct Frame: Sendable {
    var captured: Int64
    var arrival: Int64

    /// Seconds from the capture to the decoded frame.
    var latency: Double { Double(self.arrival - self.captured) / 1e6 }
  }

  let run: Tool.Run
  let frames: [Frame]

  /// Options of a viewer that keeps nothing back.
  static let live = FFmpeg.overTCP + ["-fflags", "nobuffer", "-flags", "low_delay", "-fpsprobesize", "0"]

  /// Decodes a stream of 640 pixels width for some seconds. libavformat, which waits for the next frame, adds a frame interval.
  static func watch(_ url: String, seconds: Int) async throws -> StripWatch {
    let rows = Timecode.cellSize(width: 640)
    let run = try await Tool.run(
      "ffmpeg",
      FFmpeg.quiet + self.live + ["-i", url, "-t", "\(seconds)", "-vf", "crop=iw:\(rows):0:0,format=gray"]
        + FFmpeg.rawVideo + ["-flush_packets", "1", "pipe:1"],
      within: .seconds(seconds + 20))
    let strips = LumaFrames(width: 640, height: rows, bytes: run.output)
    var arrivals = run.arrivals[...]
    let frames = (0..<strips.count).compactMap { index -> Frame? in
      arrivals = arrivals.drop { $0.endOffset < (index + 1) * 640 * rows }
      guard let captured = Timecode.read(strips[index], width: 640), let arrival = arrivals.first else { return nil }
      return Frame(captured: captured, arrival: arrival.unixMicroseconds)
    }
    return StripWatch(run: run, frames: frames)
  }

  /// Latency below which a share of the frames is, in seconds, without the first frames, for which the decoder was opened.
  func latency(_ share: Double) throws -> Double {
    let values = self.frames.dropFirst(15).map(\.latency).sorted()
    try #require(values.count > 30, "\(self.frames.count) frames with a strip; \(self.run.errors.suffix(1_000))")
    return values[min(values.count - 1, Int(share * Double(values.count)))]
  }

  /// Maximum time without a frame that is newer than all before, in seconds, and without the first frames.
  var maximumStall: Double {
    var newest: Frame?
    var maximum = 0.0
    for frame in self.frames.dropFirst(15) where newest.map({ frame.captured > $0.captured }) ?? true {
      if let newest { maximum = max(maximum, Double(frame.arrival - newest.arrival) / 1e6) }
      newest = frame
    }
    return maximum
  }
}
