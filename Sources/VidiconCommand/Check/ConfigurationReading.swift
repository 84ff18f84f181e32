import Media
internal import Threading

/// The configuration of a check, from the file and options of `serve`.
struct ConfigurationReading: Sendable {
  /// The configuration; the defaults where it cannot be read.
  var configuration: ServeConfiguration
  /// Reason why it cannot be read; nil where it can.
  var failure: VidiconError?
  /// Path of the file; nil without one.
  var file: String?
  /// Folder of relative paths where the file is that of the service, which another user runs; nil for that of this process.
  var serviceFolder: String?
}

extension ConfigurationReading {
  /// Reads the configuration, without what depends on devices and other files; blocks for as long as a file does not respond.
  init(_ command: ServeCommand) {
    let file = command.options.config
    let result: Result<ServeConfiguration, VidiconError> = Result { () throws(VidiconError) in
      try ServeConfiguration(unchecked: command)
    }
    switch result {
    case .success(let configuration): self.init(configuration: configuration, file: file)
    case .failure(let error): self.init(file: file, error: error)
    }
    if let file, ServiceFolder.isOf(configuration: file) { self.serviceFolder = ServiceFolder.path }
  }

  /// Reads the configuration within a time: a pipe may have no writer, and a network folder may hang. For that of the
  /// service, this process enters the service's folder.
  static func read(_ command: ServeCommand, within limit: Duration) async -> ConfigurationReading {
    let reading = await WorkerThread.run(named: "configuration", timeout: limit) {
      var command = command
      // Links of the path are followed, which may hang as well.
      command.options.config = ServiceFolder.enter(configuration: command.options.config)
      return ConfigurationReading(command)
    }
    if let reading { return reading }
    let file = command.options.config
    let error = VidiconError(
      .timedOut, subject: file?.pathWithoutCredentials() ?? "configuration", cause: "it cannot be read in time",
      nextStep: "check whether its disk or network folder hangs, or a pipe has no writer")
    return ConfigurationReading(file: file, error: error)
  }

  /// The defaults in place of a configuration that cannot be read.
  private init(file: String?, error: VidiconError) {
    self.init(configuration: ServeConfiguration(), failure: error, file: file)
    self.configuration.streams = [StreamOptions()]
  }
}
