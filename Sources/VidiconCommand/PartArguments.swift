import ArgumentParser

/// The command-line options of a recording's files.
struct PartArguments: ParsableArguments {
  @Option(help: "Start a new file after this time, such as 10m; without loss, at a keyframe.")
  var splitDuration: String?

  @Option(help: "Start a new file before one exceeds this size, such as 500M.")
  var splitSize: String?

  @Option(help: "Remove recordings of this name that are older than this, such as 7d.")
  var keepAge: String?

  @Option(help: "Remove the oldest recordings of this name while all together exceed this size, such as 20G.")
  var keepSize: String?

  @Flag(help: "Overwrite existing files.")
  var overwrite = false

  @Option(help: "The title that players show.")
  var title: String?

  /// The options that are given.
  var values: [(StreamOptions.Key, String?)] {
    [
      (.splitDuration, self.splitDuration), (.splitSize, self.splitSize), (.keepAge, self.keepAge),
      (.keepSize, self.keepSize), (.overwrite, self.overwrite ? "true" : nil), (.title, self.title),
    ]
  }
}
