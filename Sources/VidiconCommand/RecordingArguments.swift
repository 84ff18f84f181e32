import ArgumentParser

/// The command-line options of `vidicon serve` for recordings.
struct RecordingArguments: ParsableArguments {
  @Option(
    help: """
      Record into files of this name, such as recordings/%F_%H-%M-%S.mp4; {name} stands for the stream's. SIGUSR1 \
      pauses and resumes.
      """)
  var record: String?

  @Option(
    help: """
      An existing folder for recordings that are started on the web page or over HTTP; without it or --record they \
      cannot be started.
      """)
  var recordings: String?
}
