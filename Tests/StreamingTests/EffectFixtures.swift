import Codecs
import Effects
import Media
import Synchronization
import Testing
import Threading

@testable import Streaming

/// Output that decodes its samples, as a viewer does.
final class ViewingOutput: StreamOutput {
  private struct State {
    var decoder: H264Decoder?
    var lumas: [MediaTime: UInt8] = [:]
    var metadata: [TimedFrameMetadata] = []
    /// Number of frames whose metadata came after their sample, or not at all.
    var unreported = 0
  }

  private let state = Monitor(State())

  func descriptionChanged(to description: CodecDescription) {
    guard case .h264(let description) = description else { return }
    self.state.withLock { $0.decoder = try? H264Decoder(description) }
  }

  func consume(_ metadata: TimedFrameMetadata) {
    self.state.withLock { $0.metadata.append(metadata) }
  }

  func consume(_ sample: EncodedSample) {
    guard sample.kind == .video else { return }
    self.state.withLock { state in
      if state.metadata.last?.timestamp != sample.presentationTime { state.unreported += 1 }
      for frame in state.decoder?.decode(sample) ?? [] {
        state.lumas[sample.presentationTime] = frame.withPlane(0) { $0[$0.count / 2 + frame.format.width / 2] }
      }
    }
  }

  func streamEnded() {}

  /// The luma at the center of each frame, in order of time.
  var lumas: [UInt8] { self.state.withLock { $0.lumas.sorted { $0.key < $1.key }.map(\.value) } }
  /// The metadata of the frames.
  var metadata: [TimedFrameMetadata] { self.state.withLock { $0.metadata } }
  var unreported: Int { self.state.withLock { $0.unreported } }
  /// A time shortly after the last frame's, for the first frame of another source: a time further ahead may be moved, as that of a
  /// source of lower latency.
  var next: MediaTime {
    (self.state.withLock { $0.lumas.keys.max() } ?? StreamClock.system.now()) + .milliseconds(2)
  }

  /// Waits for a number of frames, and expects them.
  func lumas(atLeast count: Int) -> [UInt8] {
    let reached: Void? = self.state.wait(until: StreamClock.system.now() + .seconds(300)) {
      $0.lumas.count >= count ? () : nil
    }
    let lumas = self.lumas
    #expect(reached != nil, "\(lumas.count) of \(count) frames")
    return lumas
  }

  /// Waits for the frame of a time, or a later one, and expects it.
  func wait(for time: MediaTime) {
    let reached: Void? = self.state.wait(until: StreamClock.system.now() + .seconds(300)) {
      $0.lumas.keys.contains { $0 >= time } ? () : nil
    }
    #expect(reached != nil)
  }
}

/// Effect that fills frames with one brightness, and records its input.
final class Paint: VideoEffect {
  private let luma: UInt8
  private let seen = Mutex((buffers: Set<ObjectIdentifier>(), formats: [VideoFormat](), lumas: [UInt8]()))

  init(_ luma: UInt8) {
    self.luma = luma
  }

  func prepare(for format: VideoFormat) {
    self.seen.withLock { $0.formats.append(format) }
  }

  func process(_ frame: inout EffectFrame) -> EffectVerdict {
    let buffer = ObjectIdentifier(frame.buffer)
    frame.withPlane(0) { plane in
      self.seen.withLock {
        $0.buffers.insert(buffer)
        $0.lumas.append(plane[0])
      }
      plane.update(repeating: self.luma)
    }
    return .keep
  }

  /// The number of different frame buffers.
  var bufferCount: Int { self.seen.withLock { $0.buffers.count } }
  /// The formats passed to `prepare`.
  var formats: [VideoFormat] { self.seen.withLock { $0.formats } }
  /// The brightness of the input frames.
  var lumas: [UInt8] { self.seen.withLock { $0.lumas } }
}
