import ArgumentParser

/// The command-line option of the configuration file.
struct FileArguments: ParsableArguments {
  @Option(help: "A YAML file with these settings; command-line options override it.")
  var config: String?
}
