package import Capture
internal import Media

/// The published sources of one stream, at most one of each protocol: a publisher goes on sending to its source while another
/// one is current, and the stream can be switched back to it.
package struct PublishedSources: Sendable {
  private struct Entry: Sendable {
    let input: PublishedInput
    let video: any VideoCapturer
    let audio: any AudioCapturer
  }

  private var entries: [Entry] = []

  /// Creates a list without sources.
  package init() {}

  /// The video capturers, for servers that look for the source of a publisher.
  package var videos: [any VideoCapturer] { self.entries.map(\.video) }

  /// Adds the source of a video capturer, unless the capturer is of another kind or its protocol has a source already.
  ///
  /// - Parameter audio: The audio capturer beside it, which may belong to another source.
  package mutating func add(video: any VideoCapturer, audio: (any AudioCapturer)?) {
    guard let input = PublishedInput.of(video), !self.entries.contains(where: { $0.input.scheme == input.scheme })
    else { return }
    let own = audio.flatMap { PublishedInput.of($0) === input ? $0 : nil }
    self.entries.append(
      Entry(input: input, video: video, audio: own ?? TrackAudioCapturer(player: input, format: input.audioFormat)))
  }

  /// The video and audio capturer that take the place of ones that were just opened: those of the source of the same protocol.
  package func present(
    video: (any VideoCapturer)?, audio: (any AudioCapturer)?
  ) -> (video: (any VideoCapturer)?, audio: (any AudioCapturer)?) {
    guard let video, let input = PublishedInput.of(video),
      let entry = self.entries.first(where: { $0.input.scheme == input.scheme })
    else { return (video, audio) }
    let isOwn = audio.flatMap { PublishedInput.of($0) } === input
    return (entry.video, isOwn ? entry.audio : audio)
  }

  /// The audio that belongs to a video capturer; nil where that is no published source in this list.
  package func audio(of video: any VideoCapturer) -> (any AudioCapturer)? {
    self.entries.first { $0.video === video }?.audio
  }
}
