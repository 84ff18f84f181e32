import ArgumentParser

/// The command-line options of a recording's files.
struct PartArguments: ParsableArguments {
  @Option(help: "Start a new file after this time, such as 10m; without loss, at a keyframe.")
  var splitDuration: String?

  @Option(help: "Start a new file before one exceeds this size, such as 500M.")
  var splitSize: String?

  @Option(help: "Remove recordings of this stream and name that are older than this, such as 7d.")
  var keepAge: String?

  @Option(
    help: "Remove the oldest recordings of this stream and name while all together exceed this size, such as 20G.")
  var keepSize: String?

  @Option(
    help: """
      Leave this much of the disk free: the oldest recordings are removed with --keep-age or --keep-size, otherwise the \
      recording stops. (default: 1G, or 5% of a disk below 20 GB)
      """)
  var keepFree: String?

  @Flag(help: "Overwrite existing files.")
  var overwrite = false

  @Option(help: "The title that players show.")
  var title: String?

  @Option(
    help: ArgumentHelp(
      "Record this rendition of the stream, such as low; it is encoded while it is recorded. (default: main)",
      valueName: "name"))
  var recordRendition: String?
}
