import ArgumentParser

/// The command-line options of `vidicon serve` for servers that a stream is sent to.
struct PushArguments: ParsableArguments {
  @Option(
    help: """
      A server that the stream is sent to, rtmp://HOST/APP/KEY, rtmps://HOST/APP/KEY or whip+https://HOST/PATH, with options before it: \
      rendition=low,bitrate=1500k,adaptive=no,url=rtmp://…; the rendition also as ?rendition=low in the URL, which the server does \
      not get; repeatable. Other users of this machine see options in the list \
      of processes; --push-file and the variable VIDICON_PUSH hide them.
      """)
  var push: [String] = []

  @Option(help: "A file of servers, one a line as --push, readable by its owner only.")
  var pushFile: String?

  /// A push of the configuration file has its own token.
  @Option(
    help: """
      A file with the token of WHIP servers, readable by its owner only; for pushes of --push, --push-file and VIDICON_PUSH that \
      have none. The variable VIDICON_PUSH_TOKEN has the token itself.
      """)
  var pushTokenFile: String?

  @Option(
    help:
      "A PEM file of authorities that certificates of rtmps and whip+https servers may come from, beside those of the system."
  )
  var pushCA: String?
}
