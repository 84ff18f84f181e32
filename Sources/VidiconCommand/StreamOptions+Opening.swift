import Capture
import Foundation
import Media
internal import StreamControl
import Streaming

extension StreamOptions {
  /// Makes the stream with its sources attached, on a thread of its own, since opening a source may block for as long as
  /// another program takes.
  ///
  /// - Parameters:
  ///   - loop: Whether files go on at their start when they end.
  ///   - hasSoundTrack: Whether there is silence where `auto` finds no sound, since no track can be added later.
  func openStream(loop: Bool, hasSoundTrack: Bool = false) async throws -> LiveStream {
    try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread {
        continuation.resume(with: Result { try self.makeStream(loop: loop, hasSoundTrack: hasSoundTrack) })
      }
    }
  }

  private func makeStream(loop: Bool, hasSoundTrack: Bool) throws(Failure) -> LiveStream {
    let stream = LiveStream(self.name, video: self.video, audio: self.sound)
    do throws(VidiconError) {
      let sources = try self.openSources(loop: loop)
      stream.attachVideo(sources.video)
      if let audio = sources.audio {
        stream.attachAudio(audio)
      } else if self.audio == "auto", hasSoundTrack {
        stream.attachAudio(SilenceCapturer(format: AudioFormat(sampleRate: 48_000, channelCount: 2)))
      }
    } catch {
      let message = "\(self.name): \(error)"
      throw error.code == .invalidSpecification ? .usage(message) : Failure(message)
    }
    return stream
  }
}
