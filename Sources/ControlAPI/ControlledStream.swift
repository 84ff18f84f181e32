internal import Capture
internal import HLSServer
internal import Streaming
internal import Synchronization
internal import Threading

/// Face events and device controls of a served stream, beside its media.
final class ControlledStream: Sendable {
  /// Face events of `/api/streams/NAME/events`, which HLS has too.
  let faces: FaceEventOutput
  /// Coalesces queries of the video device's controls.
  let controls = SingleFlight<[DeviceControl]>(threadName: "controls", timeout: .seconds(2))

  init(_ served: ServedStream) {
    self.faces = FaceEventOutput(eventLoop: served.eventLoop) { [hls = served.hls] in hls.consume($0) }
  }
}

/// The served streams of the API.
final class ControlledStreams: Sendable {
  private let streams = Mutex<[ObjectIdentifier: ControlledStream]>([:])

  /// The entry of a stream; nil when it is not served.
  subscript(stream: LiveStream) -> ControlledStream? {
    self.streams.withLock { $0[ObjectIdentifier(stream)] }
  }

  /// Adds a stream before requests find it.
  func insert(_ controlled: ControlledStream, for stream: LiveStream) {
    self.streams.withLock { $0[ObjectIdentifier(stream)] = controlled }
  }

  /// Removes a stream; nil when it is not served.
  func remove(_ stream: LiveStream) -> ControlledStream? {
    self.streams.withLock { $0.removeValue(forKey: ObjectIdentifier(stream)) }
  }
}
