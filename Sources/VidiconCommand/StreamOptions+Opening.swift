import Capture
import Foundation
import Streaming

extension StreamOptions {
  /// Makes the stream with its sources attached, on a thread of its own, since opening a source may block for as long as
  /// another program takes.
  ///
  /// - Parameter loop: Whether files go on at their start when they end.
  func openStream(loop: Bool) async throws -> LiveStream {
    try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread {
        continuation.resume(with: Result { try self.makeStream(loop: loop) })
      }
    }
  }

  private func makeStream(loop: Bool) throws(Failure) -> LiveStream {
    let stream = LiveStream(self.name, video: self.video, audio: self.sound)
    do throws(CaptureError) {
      let sources = try self.openSources(loop: loop)
      stream.attachVideo(sources.video)
      if let audio = sources.audio { stream.attachAudio(audio) }
    } catch {
      let message = "\(self.name): \(error)"
      throw error.code == .invalidSpecification ? .usage(message) : Failure(message)
    }
    return stream
  }
}
