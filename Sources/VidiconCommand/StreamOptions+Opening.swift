import Capture
import Media
internal import StreamControl
import Streaming
internal import Threading

extension StreamOptions {
  /// Creates the stream with its sources attached. Opening a source may block for as long as another program or device
  /// does not respond; it runs on a thread of its own.
  ///
  /// - Parameters:
  ///   - loop: Whether files are looped.
  ///   - endsWithSource: Whether the stream is ended when its video source ends, and shows no slate until then.
  ///   - hasAudioTrack: Whether silence is attached where `auto` finds no audio source; no track can be added later.
  func openStream(loop: Bool, endsWithSource: Bool = false, hasAudioTrack: Bool = false) async throws(VidiconError)
    -> LiveStream
  {
    let result = await WorkerThread.run(named: "sources") { () -> Result<LiveStream, VidiconError> in
      Result { () throws(VidiconError) in
        try self.makeStream(loop: loop, endsWithSource: endsWithSource, hasAudioTrack: hasAudioTrack)
      }
    }
    guard let result else { throw VidiconError.noThread("sources") }
    return try result.get()
  }

  private func makeStream(loop: Bool, endsWithSource: Bool, hasAudioTrack: Bool) throws(VidiconError) -> LiveStream {
    var video = self.video
    if endsWithSource { video.slateDelayAfterEnd = .seconds(3600) }
    let stream = LiveStream(self.name, video: video, audio: self.audioSettings)
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
