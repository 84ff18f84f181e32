import ArgumentParser

/// The command-line options of a stream, which `vidicon serve` and `vidicon record` have.
struct StreamArguments: ParsableArguments {
  @OptionGroup(title: "Sources") var sources: SourceArguments
  @OptionGroup(title: "Video and audio") var encoding: EncodingArguments
  @OptionGroup(title: "Faces and other effects") var effects: EffectArguments
}
