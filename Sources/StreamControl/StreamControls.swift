/// Everything that can be changed of one published stream; nil where it cannot.
package struct StreamControls: Sendable {
  /// The sources and settings.
  package var sources: StreamSources?
  /// The effects.
  package var effects: StreamEffects?
  /// The recording.
  package var recording: RecordingControl?

  /// The controls of a stream.
  package init(sources: StreamSources? = nil, effects: StreamEffects? = nil, recording: RecordingControl? = nil) {
    self.sources = sources
    self.effects = effects
    self.recording = recording
  }
}
