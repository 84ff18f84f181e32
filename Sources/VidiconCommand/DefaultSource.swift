import Capture
import CaptureDevices
import Media
import Streaming
internal import Threading
import Vidicon

/// The source when none is requested: the first camera that delivers frames, with a microphone, else plasma and tone.
struct DefaultSource {
  /// A running stream and its options.
  struct Choice {
    var stream: LiveStream
    /// The options with the chosen video and audio source.
    var options: StreamOptions
    /// The choice in words, for the status display.
    var description: String
  }

  /// Maximum time from opening a camera to its first encoded frame.
  private static let timeout = Duration.seconds(8)

  let options: StreamOptions
  let loop: Bool
  /// The connected devices; cameras are tried in this order.
  let devices: [CaptureDevice]

  /// Tries one camera after the other, and warns about each one that is skipped.
  func choose() async throws -> Choice {
    for camera in self.devices where camera.kind == .camera {
      if let problem = camera.problem {
        Terminal.warn("\(camera.specification): \(problem); trying the next source")
        continue
      }
      for audio in self.audioSources(with: camera) {
        var options = self.options
        (options.source, options.audio) = (camera.specification, audio)
        do {
          let stream = try await self.start(options)
          return Choice(
            stream: stream, options: options,
            description: "\(camera.name) (\(camera.specification)), audio \(audio.withoutCredentials())")
        } catch {
          Terminal.warn("\(error.message); trying the next source")
          if error.kind == .video { break }
        }
      }
    }
    var options = self.options
    options.source = "plasma"
    let hasCamera = self.devices.contains { $0.kind == .camera }
    return Choice(
      stream: try await options.openStream(for: .serving(needsConnection: true), loop: self.loop), options: options,
      description: (hasCamera ? "no camera opens" : "there is no camera")
        + ": plasma, audio \(options.audio == "auto" ? "tone" : options.audio.withoutCredentials())")
  }

  /// The audio sources to try with a camera: the requested one, else the camera's own microphone, another microphone, and
  /// silence, which keeps a track for a microphone that is chosen later.
  private func audioSources(with camera: CaptureDevice) -> [String] {
    if self.options.audio != "auto" { return [self.options.audio] }
    let microphones = self.devices.filter { $0.kind == .microphone && $0.problem == nil }
    let own = microphones.first { Self.isSameDevice($0, camera) }
    return [own?.specification, microphones.isEmpty ? nil : "mic:", "silence"].compactMap { $0 }
  }

  /// Whether a microphone belongs to a camera: the camera's name is part of the microphone's.
  private static func isSameDevice(_ microphone: CaptureDevice, _ camera: CaptureDevice) -> Bool {
    let names = [camera.name.lowercased(), camera.name.split(separator: ":").first.map { $0.lowercased() } ?? ""]
    return names.contains { name in
      name.count >= 4
        && (microphone.name.lowercased().contains(name) || microphone.stableName.lowercased().contains(name))
    }
  }

  /// A source that cannot be used.
  private struct Refusal: Error {
    var message: String
    /// Audio when another audio source may work with the same camera.
    var kind: MediaKind
  }

  private func start(_ options: StreamOptions) async throws(Refusal) -> LiveStream {
    let source = options.source ?? ""
    let stream: LiveStream
    do {
      stream = try await options.openStream(for: .serving(needsConnection: true), loop: self.loop)
    } catch {
      // The camera's specification comes from the list of devices, and nothing is opened yet.
      throw Refusal(message: "\(error)", kind: .audio)
    }
    let starting = Task { () async -> Result<Void, VidiconError> in
      do throws(VidiconError) {
        return .success(try await stream.start())
      } catch {
        return .failure(error)
      }
    }
    switch await starting.result(within: Self.timeout)?.get() {
    case .success where !stream.statistics.isSlateShown: return stream
    case .success:
      await stream.stop()
      throw Refusal(message: "\(source): it delivers no frames", kind: .video)
    case .failure(let error):
      throw Refusal(message: error.description, kind: stream.failedSource ?? .video)
    case nil:
      // The driver may never return; if it does, the stream is stopped.
      Task { await stream.stop() }
      throw Refusal(message: "\(source): it does not respond", kind: .video)
    }
  }
}
