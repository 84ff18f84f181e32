import ArgumentParser

/// The options that say how the files of a recording are made, as they are written.
struct PartArguments: ParsableArguments {
  @Option(help: "Begin a new file after this time, such as 10m; without loss, at a keyframe.")
  var splitDuration: String?

  @Option(help: "Begin a new file before one takes more than this, such as 500M.")
  var splitSize: String?

  @Option(help: "Remove recordings of this name that are older, such as 7d.")
  var keepAge: String?

  @Option(help: "Remove the oldest recordings of this name while all take more than this, such as 20G.")
  var keepSize: String?

  @Flag(help: "Write over files that exist.")
  var overwrite = false

  @Option(help: "A title that players show.")
  var title: String?

  /// What is set.
  var values: [(StreamOptions.Key, String?)] {
    [
      (.splitDuration, self.splitDuration), (.splitSize, self.splitSize), (.keepAge, self.keepAge),
      (.keepSize, self.keepSize), (.overwrite, self.overwrite ? "true" : nil), (.title, self.title),
    ]
  }
}
