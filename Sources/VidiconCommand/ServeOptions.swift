import ArgumentParser

/// The command-line options of `vidicon serve`, each in a group with a title; the settings among them are in ``ServeConfiguration/Key``
/// and ``StreamOptions/Key``.
struct ServeOptions: ParsableArguments {
  @OptionGroup var stream: StreamArguments
  @OptionGroup(title: "Recording") var recording: RecordingArguments
  @OptionGroup(title: "Sending on") var push: PushArguments
  @OptionGroup(title: "Ports") var ports: PortArguments
  @OptionGroup(title: "Access") var access: AccessArguments
  @OptionGroup(title: "This run") var run: Run

  /// Options of one run, which are no settings of the server: the configuration file does not have them.
  struct Run: ParsableArguments {
    @OptionGroup var file: FileArguments

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
