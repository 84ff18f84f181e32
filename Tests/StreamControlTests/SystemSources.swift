import Capture
import CaptureDevices
import Media
import Streaming

@testable import StreamControl

extension SourceCatalog {
  /// Every source, with the devices of this machine.
  static let all = SourceCatalog(opening: SystemDevices())

  /// No sources.
  static let none = Self.empty { SystemDevices().uniqueNames(of: $0) }

  /// A catalog of some sources, with the cameras of this machine.
  init(
    devices: @escaping @Sendable () -> [CaptureDevice], generators: [Generator],
    open: @escaping @Sendable (Request) throws(VidiconError) -> Opened
  ) {
    self.init(
      devices: devices, generators: generators, cameraNames: { SystemDevices().uniqueNames(of: $0) }, open: open)
  }
}

extension StreamSources {
  /// The sources of a stream that can be switched to every source.
  convenience init(
    _ stream: LiveStream, video: SourceSpecification.Video? = nil, audio: SourceSpecification.Audio? = nil
  ) {
    self.init(stream, video: video, audio: audio, catalog: .all)
  }
}

extension SourceIdentity {
  /// The identity of a source, with the cameras of this machine.
  init(named name: String?) {
    self.init(name.map { .init(stringLiteral: $0) }, cameraNames: { SystemDevices().uniqueNames(of: $0) })
  }
}
