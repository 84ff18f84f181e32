public import Recording
public import Serving
public import StreamControl
public import Streaming

extension CameraServer {
  /// Attaches a recorder to a stream, in place of the one before. When serving the stream ends or the server stops, the
  /// recording is finished; starting it is up to the recorder's owner.
  public func attach(_ recorder: Recorder, to stream: LiveStream) {
    self.streams.update(stream) { $0.recorder = recorder }
  }

  /// The recorder of a stream; nil when none was attached.
  public func recorder(of stream: LiveStream) -> Recorder? {
    self.streams[stream]?.recorder
  }

  /// Attaches the names of a stream's sources and the catalog that it can be switched to, in place of those before. A stream
  /// served without has sources without names and the server's catalog.
  public func attach(_ sources: StreamSources, to stream: LiveStream) {
    self.streams.update(stream) { $0.sources = sources }
    self.privacy.cover()
    Task { [privacy] in await privacy.update() }
  }

  /// The sources of a stream, to switch while it runs; nil when it is not served.
  public func sources(of stream: LiveStream) -> StreamSources? {
    self.streams[stream]?.sources
  }

  /// Attaches the effects of a stream, in place of those before. A stream served without has effects without images.
  public func attach(_ effects: StreamEffects, to stream: LiveStream) {
    self.streams.update(stream) { $0.effects = effects }
    self.privacy.cover()
    Task { [privacy] in await privacy.update() }
  }

  /// The effects of a stream, to change while it runs; nil when it is not served.
  public func effects(of stream: LiveStream) -> StreamEffects? {
    self.streams[stream]?.effects
  }
}

// MARK: Pushes

extension CameraServer {
  /// The servers that a served stream is sent to, to change while it runs; nil when it is not served.
  public func pushes(of stream: LiveStream) -> StreamPushes? {
    self.streams[stream]?.pushes
  }
}
