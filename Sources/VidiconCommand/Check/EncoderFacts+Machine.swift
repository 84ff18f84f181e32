import CaptureDevices
import Media
import StreamControl
import Streaming
internal import Threading

extension EncoderFacts {
  /// Maximum number of encoders that are opened: each of another stream of the same format would say the same.
  private static let maximumCount = 8

  /// Maximum time to find out the formats of sources; for one that takes longer the default stands.
  private static let sourceTimeout = MediaDuration.milliseconds(700)

  /// Encodes two seconds of video for each stream, all at the same time as while serving; blocks for up to four seconds.
  init(_ configuration: ServeConfiguration) {
    let streams = Array(configuration.streams.prefix(Self.maximumCount))
    self.init(
      streams: streams, duration: .seconds(2), sources: Self.findSources(of: streams, within: Self.sourceTimeout))
    self.isMeasuredBeside = DeviceHolder.findOther(name: PortHolder.ownName) != nil
  }

  /// The video of the sources of streams, by their indices, as far as it is known in time: a device or disk may hang.
  private static func findSources(of streams: [StreamOptions], within limit: MediaDuration) -> [Int: SourceVideo] {
    let results = Monitor<(found: [Int: SourceVideo], count: Int)>(([:], 0))
    let isStarted = WorkerThread.startDetached(named: "sources") {
      let devices = SourceVideo.Devices()
      for (index, stream) in streams.enumerated() {
        let video = SourceVideo(of: stream, isOnly: streams.count == 1, devices: devices)
        results.withLock { results in
          results.found[index] = video
          results.count += 1
        }
      }
    }
    guard isStarted else { return [:] }
    _ = results.wait(until: StreamClock.system.now() + limit) { $0.count == streams.count ? true : nil }
    return results.read { $0.found }
  }

  /// Encodes video of a duration for each stream.
  ///
  /// - Parameter sources: The video of sources by the indices of their streams; without one, the default stands for it.
  init(streams: [StreamOptions], duration: MediaDuration, sources: [Int: SourceVideo] = [:]) {
    let formats = streams.enumerated().map { index, stream in EncodedFormat(stream.video, source: sources[index]) }
    let results = Monitor<[Int: Result<Double, VidiconError>]>([:])
    var started = 0
    for (index, stream) in streams.enumerated() {
      let video = stream.video.with(formats[index])
      let isStarted = WorkerThread.startDetached(named: "encoder") {
        let result: Result<Double, VidiconError> = Result { () throws(VidiconError) in
          try EncodingSpeed.realTimeFactor(of: video, duration: duration)
        }
        results.withLock { $0[index] = result }
      }
      if isStarted { started += 1 }
    }
    let found = results.wait { $0.count == started ? $0 : nil } ?? [:]
    self.init(
      encoders: streams.enumerated().map { index, stream in
        let video = stream.video
        let isCompressed =
          switch stream.videoSource {
          case .network?, .published?, .file?: true
          default: false
          }
        return Encoder(
          stream: stream.name,
          format: formats[index].text(encoder: video.encoder),
          mayPassThrough: isCompressed && video.passThrough != .off, result: found[index])
      })
  }
}
