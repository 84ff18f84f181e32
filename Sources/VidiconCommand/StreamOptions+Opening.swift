import Capture
import Media
internal import StreamControl
import Streaming
internal import Threading

/// Purpose for which a stream is opened.
enum StreamUse: Hashable {
  /// Serving: a track can be added at no later time, and the first network source may come later.
  ///
  /// - Parameter needsConnection: Whether that must be there.
  case serving(needsConnection: Bool)
  /// Recording to the end of the source, unless that is looped.
  case recording

  /// Time by which network sources and the writers of pipes must be there.
  fileprivate var connection: Sources.ConnectionNeed {
    switch self {
    case .serving(needsConnection: true): .needed
    case .serving(needsConnection: false): .later
    case .recording: .awaited
    }
  }
}

extension StreamOptions {
  /// Creates the stream with its sources attached. Opening a source may block for as long as another program or device
  /// does not respond; it runs on a thread of its own.
  ///
  /// - Parameter loop: Whether files are looped.
  func openStream(for use: StreamUse, loop: Bool) async throws(VidiconError) -> LiveStream {
    let result = await WorkerThread.run(named: "sources") { () -> Result<LiveStream, VidiconError> in
      Result { () throws(VidiconError) in try self.makeStream(for: use, loop: loop) }
    }
    guard let result else { throw VidiconError.noThread("sources") }
    return try result.get()
  }

  private func makeStream(for use: StreamUse, loop: Bool) throws(VidiconError) -> LiveStream {
    var video = self.video
    // The order to stop may be late on a busy machine.
    if use == .recording, !loop { video.slateDelayAfterEnd = .seconds(3600) }
    let stream = LiveStream(self.name, video: video, audio: self.audioSettings)
    do throws(VidiconError) {
      let sources = try self.openSources(loop: loop, connection: use.connection)
      if let failure = sources.pendingFailure {
        let size = self.size == nil ? ", in 1280x720 unless --size gives another" : ""
        Terminal.log(
          LogEvent(
            .sourceWaiting, stream: self.name, fields: ["kind": MediaKind.video.rawValue],
            message: "\(failure); viewers see the slate until it is there\(size)"))
      }
      if let failure = sources.pendingAudioFailure {
        Terminal.log(
          LogEvent(
            .sourceWaiting, stream: self.name, fields: ["kind": MediaKind.audio.rawValue],
            message: "\(failure); the audio is silent until it is there"))
      }
      stream.attachVideo(sources.video)
      if let audio = sources.audio {
        stream.attachAudio(audio)
      } else if self.audio == "auto", use != .recording {
        stream.attachAudio(SilenceCapturer(format: AudioFormat(sampleRate: 48_000, channelCount: 2)))
      }
    } catch {
      throw error.of(self.name)
    }
    return stream
  }
}
