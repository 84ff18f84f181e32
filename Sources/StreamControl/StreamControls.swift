package import Media
package import Pushing

/// Sources, effects and recorder of a served stream, for changes; nil for those that are not attached.
package struct StreamControls: Sendable {
  /// Names of the sources, and every setting that can change while the stream runs.
  package var sources: StreamSources?
  /// Settings of the video effects.
  package var effects: StreamEffects?
  /// Start, pause and end of recordings.
  package var recording: RecordingControl?
  /// Servers to which the stream is sent.
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

/// Reads and replaces the pushes of a stream, for the HTTP server.
package struct PushControl: Sendable {
  /// Returns the pushes in the order of their list.
  package var reports: @Sendable () -> [PushReport]
  /// Replaces the list: pushes that are not in it are stopped, new ones are started.
  ///
  /// Returns the error of an invalid list, which changes nothing; nil otherwise.
  package var replace: @Sendable ([PushEntry]) -> VidiconError?

  /// Creates a control that calls the closures on any thread.
  package init(
    reports: @escaping @Sendable () -> [PushReport],
    replace: @escaping @Sendable ([PushEntry]) -> VidiconError?
  ) {
    self.reports = reports
    self.replace = replace
  }
}
