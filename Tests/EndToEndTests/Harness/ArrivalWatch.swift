import Foundation
import Testing

/// Video packets that an RTSP viewer has received, with their timestamps and the times of their arrival.
struct ArrivalWatch: Sendable {
  private struct Packet {
    /// Presentation time in seconds.
    var time: Double
    /// Wall-clock time, microseconds since 1970.
    var arrival: Int64
  }

  private var packets: [Packet] = []
  let run: Tool.Run

  /// Receives a stream for some seconds.
  static func watch(_ url: String, seconds: Int) async throws -> ArrivalWatch {
    // A line for each packet, as soon as it has been read.
    let run = try await Tool.run(
      "stdbuf",
      ["-oL", "ffprobe", "-v", "error"] + FFmpeg.overTCP + ["-fpsprobesize", "0", "-select_streams", "v:0"]
        + ["-read_intervals", "%+\(seconds)", "-show_entries", "packet=pts_time", "-of", "csv=p=0", url],
      within: .seconds(seconds + 40))
    return ArrivalWatch(run)
  }

  private init(_ run: Tool.Run) {
    self.run = run
    var arrivals = run.arrivals[...]
    var end = 0
    for line in run.output.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
      end += line.count + 1
      arrivals = arrivals.drop { $0.endOffset < end }
      guard let arrival = arrivals.first, let time = Double(String(decoding: line, as: UTF8.self).filter { $0 != "," })
      else { continue }
      self.packets.append(Packet(time: time, arrival: arrival.unixMicroseconds))
    }
  }

  /// A switch of the source, with the times of its request and its response.
  struct Switch: Sendable {
    var source: String
    /// Wall-clock times, microseconds since 1970.
    var request: Int64
    var response: Int64
  }

  /// Lines on the timestamps, or arrivals, that are further apart than a limit in seconds, each with the switch before it.
  func steps(over limit: Double, switches: [Switch]) -> [String] {
    // ffprobe has read the first ones before it prints any.
    zip(self.packets.dropFirst(15), self.packets.dropFirst(16)).compactMap { last, next in
      let (step, interval) = (next.time - last.time, Double(next.arrival - last.arrival) / 1e6)
      guard max(step, interval) > limit else { return nil }
      let index = switches.lastIndex { $0.request < next.arrival }
      let names = index.map { "\($0 > 0 ? switches[$0 - 1].source : "the first source") to \(switches[$0].source)" }
      let times = index.map { index in
        [switches[index].request, switches[index].response].map { "\((next.arrival - $0) / 1000) ms" }
      }
      let place = names.map {
        "after the switch from \($0), requested \(times?[0] ?? "") and answered \(times?[1] ?? "") before"
      }
      return
        "timestamps \(Int((step * 1000).rounded())) ms apart, arrivals \(Int(interval * 1000)) ms, \(place ?? "before a switch")"
    }
  }
}
