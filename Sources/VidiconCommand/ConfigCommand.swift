import ArgumentParser
import Authentication
import Media
import Pushing
import Serving
import Streaming

/// `vidicon config`: reads a configuration as `vidicon serve` does, without serving.
struct ConfigCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "config", abstract: "Check a configuration, or print what is in force.",
    subcommands: [Check.self, Print.self])

  /// `vidicon config check`: names what is wrong, and what has no effect.
  struct Check: ConfigurationReader {
    static let configuration = CommandConfiguration(
      commandName: "check", abstract: "Read a configuration as serve does, and say what is wrong with it.",
      discussion: """
        Opens no port, device, encoder or source. Exit status 0 where nothing is wrong, 64 for a wrong key or value, \
        1 for a file that is missing or cannot be used.
        """)

    @Argument(help: Self.fileHelp) var file: String?

    @OptionGroup var serve: ServeCommand

    func run() throws {
      let configuration = try self.read()
      try configuration.checkFiles()
      for warning in configuration.warnings + configuration.ineffectiveSettings { Terminal.warn(warning) }
      let names = configuration.streams.map(\.name).joined(separator: ", ")
      let file = self.file ?? self.serve.options.config
      Terminal.print(
        "\(file?.pathWithoutCredentials() ?? "options"): valid, with "
          + (configuration.streams.count == 1 ? "the stream \(names)" : "the streams \(names)"))
    }
  }

  /// `vidicon config print`: shows every setting and its origin.
  struct Print: ConfigurationReader {
    static let configuration = CommandConfiguration(
      commandName: "print", abstract: "Print every setting that is in force, as a configuration file.",
      discussion: """
        Each value has its origin in a comment: file, option, environment, preset or default. Defaults are comments themselves, so that a \
        later version may change them. serve --config accepts the text.
        """)

    @Flag(help: "Show passwords, keys and tokens; otherwise they are masked, and serve refuses the mask.")
    var showSecrets = false

    @Argument(help: Self.fileHelp) var file: String?

    @OptionGroup var serve: ServeCommand

    func run() throws {
      let configuration = try self.read()
      for warning in configuration.warnings { Terminal.warn(warning) }
      for line in ConfigurationText(configuration, showsSecrets: self.showSecrets).text.split(separator: "\n") {
        Terminal.print(String(line))
      }
    }
  }
}

/// A command that reads a configuration from a file and the options of `serve`.
private protocol ConfigurationReader: ParsableCommand {
  /// The configuration file.
  var file: String? { get }
  /// The options of `serve`.
  var serve: ServeCommand { get }
}

extension ConfigurationReader {
  static var fileHelp: ArgumentHelp { "The configuration file; without one the options alone are read." }

  /// The configuration that `serve` would run with.
  func read() throws(VidiconError) -> ServeConfiguration {
    var command = self.serve
    if let file {
      guard command.options.config == nil else {
        throw .usage("--config", "the file is given already", "give it once")
      }
      command.options.config = file
    }
    command.options.config = ServiceFolder.enter(configuration: command.options.config)
    return try ServeConfiguration(command)
  }
}

extension ServeConfiguration {
  /// Checks what the start would find out later: names of sources, and files of users, certificates, effects and recordings. Opens no port,
  /// device or source.
  func checkFiles() throws(VidiconError) {
    try self.checkStreams()
    // An address with a zone, such as fe80::1%eth0, is the system's to check.
    for (name, address) in [("--bind", self.bind ?? "::")] + self.iceAddresses.map({ ("--ice-address", $0) })
    where !address.contains("%") && IPAddress(parsing: address) == nil {
      throw .usage(name, "\(address.debugDescription) is not an IPv4 or IPv6 address", "give a numeric address")
    }
    for stream in self.streams {
      for push in stream.pushes where push.rendition != RenditionName.main {
        guard case .list(let renditions) = stream.renditions, !renditions.contains(where: { $0.name == push.rendition })
        else { continue }
        // The name may be a secret of the server's, from the URL.
        let names = ([RenditionName.main] + renditions.map(\.name)).joined(separator: ", ")
        throw .usage("the push", "\(stream.name) has no rendition of its name", "give one of \(names)")
      }
    }
    if var users = self.userFile.map({ UserFileMonitor(path: $0) }) { _ = try users.read() }
    if let tlsCertificate, let tlsKey {
      _ = try TLSCertificate(CertificateFiles(chain: tlsCertificate, key: tlsKey))
    }
    for stream in self.streams { try stream.effects.checkFiles() }
  }

  /// Checks the folders of recordings and the names of sources, before a port is opened.
  func checkStreams() throws(VidiconError) {
    for stream in self.streams {
      try stream.recording.checkFolder()
      try stream.checkSources()
    }
  }
}
