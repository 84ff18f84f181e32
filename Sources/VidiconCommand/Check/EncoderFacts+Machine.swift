import CaptureDevices
import Media
import Streaming
internal import Threading

extension EncoderFacts {
  /// Maximum number of encoders that are opened: each of another stream of the same format would say the same.
  private static let maximumCount = 8

  /// Encodes two seconds of video for each stream, all at the same time as while serving; blocks for up to three seconds.
  init(_ configuration: ServeConfiguration) {
    self.init(streams: configuration.streams, duration: .seconds(2))
    self.isMeasuredBeside = DeviceHolder.findOther(name: PortHolder.ownName) != nil
  }

  /// Encodes video of a duration for each stream.
  init(streams: [StreamOptions], duration: MediaDuration) {
    let streams = Array(streams.prefix(Self.maximumCount))
    let results = Monitor<[Int: Result<Double, VidiconError>]>([:])
    var started = 0
    for (index, stream) in streams.enumerated() {
      let video = stream.video
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
        let isCompressed = ["rtsp://", "rtsps://", "rtmp", "rtsp:", "whip:", "file:", "http"].contains {
          stream.source?.hasPrefix($0) == true
        }
        return Encoder(
          stream: stream.name,
          format: "\(video.width ?? 1280)x\(video.height ?? 720) at \(video.frameRate ?? 30) fps with \(video.encoder)",
          mayPassThrough: isCompressed && video.passThrough != .off, result: found[index])
      })
  }
}
