import Media

/// The configuration of a check, from the file and options of `serve`.
struct ConfigurationReading: Sendable {
  /// The configuration; the defaults where it cannot be read.
  var configuration: ServeConfiguration
  /// Reason why it cannot be read; nil where it can.
  var failure: VidiconError?
  /// Path of the file; nil without one.
  var file: String?

  /// Reads the configuration, without what depends on devices and other files.
  init(_ command: ServeCommand) {
    self.file = command.options.config
    do throws(VidiconError) {
      self.configuration = try ServeConfiguration(unchecked: command)
    } catch {
      self.configuration = ServeConfiguration()
      self.configuration.streams = [StreamOptions()]
      self.failure = error
    }
  }
}
