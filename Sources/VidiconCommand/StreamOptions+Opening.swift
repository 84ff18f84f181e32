import Capture
import Foundation
import Media
internal import StreamControl
import Streaming

extension StreamOptions {
  /// Creates the stream with its sources attached. Opening a source may block for as long as another program or device
  /// does not respond; it runs on a thread of its own.
  ///
  /// - Parameters:
  ///   - loop: Whether files are looped.
  ///   - hasAudioTrack: Whether silence is attached where `auto` finds no audio source; no track can be added later.
  func openStream(loop: Bool, hasAudioTrack: Bool = false) async throws -> LiveStream {
    try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread {
        continuation.resume(with: Result { try self.makeStream(loop: loop, hasAudioTrack: hasAudioTrack) })
      }
    }
  }

  private func makeStream(loop: Bool, hasAudioTrack: Bool) throws(VidiconError) -> LiveStream {
    let stream = LiveStream(self.name, video: self.video, audio: self.audioSettings)
    do throws(VidiconError) {
      let sources = try self.openSources(loop: loop)
      stream.attachVideo(sources.video)
      if let audio = sources.audio {
        stream.attachAudio(audio)
      } else if self.audio == "auto", hasAudioTrack {
        stream.attachAudio(SilenceCapturer(format: AudioFormat(sampleRate: 48_000, channelCount: 2)))
      }
    } catch {
      throw error.of(self.name)
    }
    return stream
  }
}
