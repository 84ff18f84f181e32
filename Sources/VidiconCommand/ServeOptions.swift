import ArgumentParser

/// The command-line options of `vidicon serve`, each in a group with a title; the settings among them are in ``ServeConfiguration/Key``
/// and ``StreamOptions/Key``.
struct ServeOptions: ParsableArguments {
  @OptionGroup(title: "Sources") var sources: SourceArguments
  @OptionGroup(title: "Video and audio") var encoding: EncodingArguments
  @OptionGroup(title: "Faces and other effects") var effects: EffectArguments
  @OptionGroup(title: "Recording") var recording: RecordingArguments
  @OptionGroup(title: "Recording") var parts: PartArguments
  @OptionGroup(title: "Sending on") var push: PushArguments
  @OptionGroup(title: "Ports") var ports: PortArguments
  @OptionGroup(title: "Access") var access: AccessArguments
  @OptionGroup(title: "This run") var run: Run

  /// The configuration file, and options of one run, which the file does not have.
  struct Run: ParsableArguments {
    @Option(help: "A YAML file with these settings; command-line options override it.")
    var config: String?

    @Flag(name: .customLong("no-qr"), help: "Do not show a QR code of the page's address on the terminal.")
    var noQR = false

    @Flag(help: "Status as JSON, one object per line, on standard output.")
    var json = false

    @Flag(
      help: "End at the start where a network source cannot be reached, instead of trying it again under the slate.")
    var exitOnFailure = false

    @Flag(help: "Play files once, and end with exit status 0 when a source ends.")
    var exitOnEOF = false
  }
}
