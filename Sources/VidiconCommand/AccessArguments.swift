import ArgumentParser

/// The command-line options of `vidicon serve` for access: certificates, users, roles, host names, origins.
struct AccessArguments: ParsableArguments {
  @Option(help: "The certificate chain, a PEM file.")
  var tlsCert: String?

  @Option(help: "The certificate's private key, a PEM file.")
  var tlsKey: String?

  @Option(
    help: """
      NAME:PASSWORD of a user with the viewer role; repeatable. Without such users watching needs no password. Other \
      users of this machine see options in the list of processes; --user-file hides them.
      """)
  var user: [String] = []

  /// Users of the same list as ``user``, whose members have roles in the file.
  @Option(
    name: .customLong("operator"),
    help: """
      NAME:PASSWORD of a user with the operator role: watches, changes streams, downloads recordings; repeatable.
      """)
  var operators: [String] = []

  @Option(
    help: """
      The token of publishers to the source whip:, 16 to 256 letters, digits and -._~+/; @FILE for the first line of a file. \
      (default: one that is made at the start)
      """)
  var whipToken: String?

  @Option(help: "A file of users and tokens, readable by its owner only; read again when it changes.")
  var userFile: String?

  @Option(
    help: """
      Who controls streams without an operator's password or token: machine (programs on this machine), all (everybody \
      with the viewer role), or none, which excludes operators too. (default: operators only)
      """)
  var control: String?

  @Option(help: "Who lists and downloads recordings: operators or viewers. (default: operators)")
  var recordingsFor: String?

  @Option(help: "A folder whose files operators may choose as sources over HTTP; repeatable.")
  var files: [String] = []

  @Flag(
    help: """
      Let operators choose network sources at link-local addresses over HTTP: 169.254.*, where some cameras are, and cloud \
      machines keep secrets.
      """)
  var linkLocal = false

  @Option(help: "A further host name under which HTTP requests are answered, such as a proxy's; repeatable.")
  var host: [String] = []

  @Option(help: "An origin, such as https://example.org, whose web pages may play the streams; * for all; repeatable.")
  var cors: [String] = []

  @Flag(help: "Do not let web pages of other sites show images of the streams.")
  var noEmbed = false

  @Flag(help: "Accept passwords in plain text (Basic) over HTTP without TLS from other machines.")
  var insecureBasic = false

  @Option(
    help: "The numeric address of a reverse proxy, whose last forwarded address counts as the client's; repeatable.")
  var behindProxy: [String] = []
}
