import ArgumentParser

/// The command-line options of `vidicon serve` for servers that a stream is sent to.
struct PushArguments: ParsableArguments {
  @Option(
    name: .customLong("push"),
    help: """
      A server that the stream is sent to, rtmp://HOST/APP/KEY or rtmps://HOST/APP/KEY, with options before it: \
      rendition=low,bitrate=1500k,adaptive=no,url=rtmp://…; repeatable. Other users of this machine see options in the list \
      of processes; --push-file and the variable VIDICON_PUSH hide them.
      """)
  var targets: [String] = []

  @Option(name: .customLong("push-file"), help: "A file of servers, one a line as --push, readable by its owner only.")
  var file: String?

  @Option(
    name: .customLong("push-ca"),
    help: "A PEM file of authorities that certificates of rtmps servers may come from, beside those of the system.")
  var authorityFile: String?
}
