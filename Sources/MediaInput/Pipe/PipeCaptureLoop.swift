internal import Capture
internal import Media
internal import Synchronization
internal import Threading

/// The capture loop of `pipe:`: delivers the frames of a YUV4MPEG2 stream at its frame rate.
final class PipeCaptureLoop: Sendable {
  /// Locked while a thread runs.
  private let stream: Mutex<Y4MStream>

  init(_ stream: sending Y4MStream) {
    self.stream = Mutex(stream)
  }

  /// Reads and delivers frames until the end, an error, or the signal.
  func run(to consumer: any VideoConsumer, reader: PipeReader, signal: StopSignal) {
    self.stream.withLock { stream in
      let end = Self.frames(of: &stream, to: consumer, reader: reader, signal: signal)
      if case .ended(let error) = end, !signal.isStopped { consumer.captureEnded(error) }
    }
  }

  /// Reason why reading ended.
  private enum End {
    case ended(VidiconError?)
    case interrupted

    /// Nil when reading continues.
    init?(_ outcome: Y4MStream.Outcome) {
      switch outcome {
      case .complete: return nil
      case .end: self = .ended(nil)
      case .interrupted: self = .interrupted
      case .failed(let error): self = .ended(error)
      }
    }
  }

  private static func frames(
    of stream: inout Y4MStream, to consumer: any VideoConsumer, reader: PipeReader, signal: StopSignal
  ) -> End {
    var pace = PipePace(rate: stream.format.frameRate)
    while true {
      if let end = End(stream.readFrameLine(reader)) { return end }
      let time = pace.time(ofFrameArriving: StreamClock.system.now())
      guard signal.wait(until: time) else { return .interrupted }

      var frame: VideoFrame?
      if let end = End(stream.readFrame(reader, at: time, into: &frame)) {
        if case .ended(nil) = end, !stream.isVerified { return .ended(stream.shortfall) }
        return end
      }
      if !stream.isVerified {
        let following = stream.readFrameLine(reader)
        switch following {
        case .complete, .end: stream.isVerified = true
        case .interrupted, .failed: if let end = End(following) { return end }
        }
      }
      if signal.isStopped { return .interrupted }
      if let frame {
        consumer.consume(frame)
      } else {
        consumer.captureSkipped(at: time)
      }
    }
  }
}
