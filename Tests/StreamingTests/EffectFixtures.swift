import Codecs
import Effects
import Media
import Synchronization
import Testing
import Threading

@testable import Streaming

/// An output that decodes what it gets, as a viewer does.
final class ViewingOutput: StreamOutput {
  private struct State {
    var decoder: H264Decoder?
    var lumas: [MediaTime: UInt8] = [:]
    var told: [TimedFrameMetadata] = []
    /// Frames whose metadata came after their sample, or not at all.
    var unreported = 0
  }

  private let state = Monitor(State())

  func descriptionChanged(to description: CodecDescription) {
    guard case .h264(let description) = description else { return }
    self.state.withLock { $0.decoder = try? H264Decoder(description) }
  }

  func consume(_ metadata: TimedFrameMetadata) {
    self.state.withLock { $0.told.append(metadata) }
  }

  func consume(_ sample: EncodedSample) {
    guard sample.kind == .video else { return }
    self.state.withLock { state in
      if state.told.last?.timestamp != sample.presentationTime { state.unreported += 1 }
      for frame in state.decoder?.decode(sample) ?? [] {
        state.lumas[sample.presentationTime] = frame.withPlane(0) { $0[$0.count / 2 + frame.format.width / 2] }
      }
    }
  }

  func streamEnded() {}

  /// The luma in the middle of each frame, in order of time.
  var lumas: [UInt8] { self.state.withLock { $0.lumas.sorted { $0.key < $1.key }.map(\.value) } }
  /// What was reported of frames.
  var told: [TimedFrameMetadata] { self.state.withLock { $0.told } }
  var unreported: Int { self.state.withLock { $0.unreported } }

  /// Waits for as many frames.
  func lumas(atLeast count: Int) -> [UInt8] {
    self.state.wait(until: StreamClock.system.now() + .seconds(60)) { $0.lumas.count >= count ? () : nil }
    return self.lumas
  }
}

/// Gives all frames one brightness, and keeps what it sees of them.
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

  /// How many memories the frames were in.
  var bufferCount: Int { self.seen.withLock { $0.buffers.count } }
  /// What it was prepared for.
  var formats: [VideoFormat] { self.seen.withLock { $0.formats } }
  /// The brightness of the frames before.
  var lumas: [UInt8] { self.seen.withLock { $0.lumas } }
}
