import Media

@testable import MediaInput

/// Frames and audio of a whole file, in their order and with their times, as fast as they are decoded.
struct DecodedFile<Frame> {
  var frames: [Frame] = []
  var audio: [AudioBlock] = []

  /// - Parameter measure: Returns what is judged of a frame: at most ten converted frames may be kept.
  init(_ path: String, _ measure: (VideoFrame) throws -> Frame) throws {
    let playback = try FileDecoder(path: path, isLooped: false, isConfined: false, interrupt: LibavInterrupt())
    while true {
      if playback.advance(isLate: false) { continue }
      guard let next = playback.next else { return }
      switch next {
      case .frame: if let frame = playback.dequeueFrame() { self.frames.append(try measure(frame)) }
      case .audio: if let block = playback.dequeueAudio() { self.audio.append(block) }
      }
    }
  }
}
