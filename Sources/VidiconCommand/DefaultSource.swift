import Capture
import CaptureDevices
import Media
import Streaming
internal import Threading
import Vidicon

/// What is served when no source is asked for: the first camera that gives a picture, with a microphone, else the plasma
/// and the tone.
struct DefaultSource {
  /// A stream that runs.
  struct Choice {
    var stream: LiveStream
    /// With the source and the sound that it has.
    var options: StreamOptions
    /// For people.
    var description: String
  }

  /// How long a camera may take until its first picture is encoded.
  private static let limit = Duration.seconds(8)

  let options: StreamOptions
  let loop: Bool
  /// The devices that there are, cameras in the order in which they are tried.
  let devices: [CaptureDevice]

  /// Tries one camera after the other, and says of each that is left out why.
  func choose() async throws -> Choice {
    for camera in self.devices where camera.kind == .camera {
      if let problem = camera.problem {
        Terminal.warn("\(camera.specification): \(problem); trying the next source")
        continue
      }
      for audio in self.sounds(with: camera) {
        var options = self.options
        (options.source, options.audio) = (camera.specification, audio)
        do {
          let stream = try await self.start(options)
          return Choice(
            stream: stream, options: options, description: "\(camera.name) (\(camera.specification)), sound \(audio)")
        } catch {
          Terminal.warn("\(error.message); trying the next source")
          if !error.isAboutSound { break }
        }
      }
    }
    var options = self.options
    options.source = "plasma"
    let hasCamera = self.devices.contains { $0.kind == .camera }
    return Choice(
      stream: try await options.openStream(loop: self.loop, hasSoundTrack: true), options: options,
      description: (hasCamera ? "no camera opens" : "there is no camera")
        + ": plasma, sound \(options.audio == "auto" ? "tone" : options.audio)")
  }

  /// The sounds to try with a camera: what was asked for, else its own microphone, else another one, else silence, which
  /// leaves a track for a microphone that comes later.
  private func sounds(with camera: CaptureDevice) -> [String] {
    if self.options.audio != "auto" { return [self.options.audio] }
    let microphones = self.devices.filter { $0.kind == .microphone && $0.problem == nil }
    let own = microphones.first { Self.isSameDevice($0, camera) }
    return [own?.specification, microphones.isEmpty ? nil : "mic:", "silence"].compactMap { $0 }
  }

  /// Whether both are parts of one device: its name is part of both.
  private static func isSameDevice(_ microphone: CaptureDevice, _ camera: CaptureDevice) -> Bool {
    let names = [camera.name.lowercased(), camera.name.split(separator: ":").first.map { $0.lowercased() } ?? ""]
    return names.contains { name in
      name.count >= 4
        && (microphone.name.lowercased().contains(name) || microphone.stableName.lowercased().contains(name))
    }
  }

  private struct Refusal: Error {
    var message: String
    var isAboutSound: Bool
  }

  private func start(_ options: StreamOptions) async throws(Refusal) -> LiveStream {
    let source = options.source ?? ""
    let stream: LiveStream
    do {
      stream = try await options.openStream(loop: self.loop, hasSoundTrack: true)
    } catch let error as Failure {
      throw Refusal(message: error.message, isAboutSound: error.message.contains("mic:"))
    } catch {
      throw Refusal(message: "\(error)", isAboutSound: false)
    }
    let starting = Task { () async -> Result<Void, VidiconError> in
      do throws(VidiconError) {
        return .success(try await stream.start())
      } catch {
        return .failure(error)
      }
    }
    switch await starting.result(within: Self.limit)?.get() {
    case .success where !stream.statistics.isSlateShown: return stream
    case .success:
      await stream.stop()
      throw Refusal(message: "\(source): it gives no picture", isAboutSound: false)
    case .failure(let error):
      throw Refusal(message: error.description, isAboutSound: error.subject.hasPrefix("mic"))
    case nil:
      // It may hang for ever; what it holds is let go when it does not.
      Task { await stream.stop() }
      throw Refusal(message: "\(source): it does not answer", isAboutSound: false)
    }
  }
}
