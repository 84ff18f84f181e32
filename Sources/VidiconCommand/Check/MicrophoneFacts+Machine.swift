import Capture
import CaptureDevices
import StreamControl

extension MicrophoneFacts {
  /// Opens each microphone for a moment, as this user; blocks for up to a second per microphone that does not respond.
  init(_ configuration: ServeConfiguration) {
    self.init(configuration, devices: MicrophoneDevices.devices())
  }

  /// The microphones that streams ask for, among those that are there.
  init(_ configuration: ServeConfiguration, devices: [CaptureDevice]) {
    self.init(
      microphones: devices.map {
        Microphone(specification: $0.specification, name: $0.name, problem: $0.problem)
      })
    for stream in configuration.streams {
      // Without a source the first camera is looked for.
      let isCamera = if case .camera? = stream.videoSource { true } else { stream.source == nil }
      switch stream.audioSource {
      case .microphone(let microphone)?: self.requests.append((stream.name, microphone.name ?? ""))
      case .auto? where isCamera: self.automatic.append(stream.name)
      default: break
      }
    }
  }
}
