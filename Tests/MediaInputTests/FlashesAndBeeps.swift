import Media
import TestSupport

@testable import MediaInput

/// Start times of beeps: loud samples after at least 0.2 s without one.
func beginnings(of blocks: [AudioBlock]) -> [MediaTime] {
  var result: [MediaTime] = []
  var last: MediaTime?
  for block in blocks {
    for index in 0..<block.sampleCount where abs(block.samples[index * block.format.channelCount]) > 0.2 {
      let time = block.timestamp + block.format.duration(ofSamples: index)
      if last.map({ time - $0 > .milliseconds(200) }) ?? true { result.append(time) }
      last = time
    }
  }
  return result
}

/// Times of white frames, at least 0.2 s apart.
func flashes(of frames: [VideoFrame]) -> [MediaTime] {
  var result: [MediaTime] = []
  for frame in frames where pixels(frame)[80 * 160 + 80] > 200 {
    if result.last.map({ frame.timestamp - $0 > .milliseconds(200) }) ?? true { result.append(frame.timestamp) }
  }
  return result
}

/// All frames and audio blocks of a file on its timeline, read without a clock.
struct PlayedFile {
  /// Frames, also repeated ones, in order.
  private(set) var frames: [VideoFrame] = []
  /// Audio blocks, also of silence, in order.
  private(set) var blocks: [AudioBlock] = []

  /// Reads a file to its end, or in a loop.
  ///
  /// - Parameter duration: Time on the timeline for which the file is looped; nil for one pass.
  init(_ path: String, loopedFor duration: MediaDuration? = nil) throws {
    let playback = try FileDecoder(
      path: path, isLooped: duration != nil, isConfined: false, interrupt: LibavInterrupt())
    while playback.advance(isLate: false) {}
    let end = duration.map { $0.nanoseconds + (playback.next?.time ?? 0) }
    if let first = playback.next { playback.begin(at: first.time) }
    while let next = playback.next, end.map({ next.time < $0 }) ?? true {
      switch next {
      case .frame: if let frame = playback.dequeueFrame() { self.frames.append(frame) }
      case .audio: if let block = playback.dequeueAudio() { self.blocks.append(block) }
      }
      while playback.advance(isLate: false) {}
    }
  }
}
