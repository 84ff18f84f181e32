/// Sources, effects and recorder of a published stream, for changes; nil for those that are not attached.
package struct StreamControls: Sendable {
  /// The sources and settings.
  package var sources: StreamSources?
  /// The effects.
  package var effects: StreamEffects?
  /// The recording.
  package var recording: RecordingControl?
  /// The pushes.
  package var pushes: PushControl?

  /// Creates the controls of a stream; by default none.
  package init(
    sources: StreamSources? = nil, effects: StreamEffects? = nil, recording: RecordingControl? = nil,
    pushes: PushControl? = nil
  ) {
    self.sources = sources
    self.effects = effects
    self.recording = recording
    self.pushes = pushes
  }
}
