internal import Capture
internal import Media
internal import Synchronization
internal import Threading

/// The capture loop of `pipe:`: delivers the frames of a YUV4MPEG2 stream at its frame rate.
final class PipeCaptureLoop: Sendable {
  private struct State {
    /// Nil before its header has come.
    var stream: Y4MStream?
    /// Bytes of the header that were read before an interruption.
    var head: [UInt8] = []
  }

  /// Locked while a thread runs.
  private let state: Mutex<State>
  private let currentFormat: Mutex<VideoFormat>
  private let source: String

  /// - Parameters:
  ///   - stream: The stream; nil where its header has not come.
  ///   - format: Format until the header has come.
  ///   - source: Subject of errors.
  init(_ stream: sending Y4MStream?, until format: VideoFormat, source: String) {
    self.source = source
    self.currentFormat = Mutex(stream?.format ?? format)
    self.state = Mutex(State(stream: stream))
  }

  /// Format of the frames.
  var format: VideoFormat { self.currentFormat.withLock { $0 } }

  /// Reads and delivers frames until the end, an error, or the signal. A header that has not come is waited for.
  func run(to consumer: any VideoConsumer, reader: PipeReader, signal: StopSignal) {
    self.state.withLock { state in
      if state.stream == nil {
        do throws(VidiconError) {
          state.stream = try Y4MStream(reader: reader, source: self.source, after: &state.head)
        } catch {
          if !reader.isInterrupted { consumer.captureEnded(error) }
        }
      }
      guard state.stream != nil else { return }
      let end = self.frames(of: &state.stream!, to: consumer, reader: reader, signal: signal)
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

  private func frames(
    of stream: inout Y4MStream, to consumer: any VideoConsumer, reader: PipeReader, signal: StopSignal
  ) -> End {
    var pace = PipePace(rate: stream.format.frameRate)
    while true {
      if let end = End(stream.readFrameLine(reader)) { return end }
      if stream.format != self.format {
        let format = stream.format
        self.currentFormat.withLock { $0 = format }
        consumer.captureFormatChanged(to: format)
        pace = PipePace(rate: format.frameRate)
      }
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
        case .complete: break
        case .end: stream.isVerified = true
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
