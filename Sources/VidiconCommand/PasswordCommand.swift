import ArgumentParser
import Authentication
import Media

/// `vidicon password`: prints the scrypt hash of a password, for user files.
struct PasswordCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "password", abstract: "Print the hash of a password, for the file of --user-file.",
    discussion: """
      Reads the password from the terminal, without showing it, or the first line of standard input. A user with a hash \
      logs in on the page and with Basic; Digest, which most players use over HTTP and RTSP, needs the password itself.
      """)

  func run() throws {
    guard let password = Terminal.readSecret("Password"), !password.isEmpty else {
      throw VidiconError.usage(
        "vidicon password", "there is no password", "type one, or write one line to standard input")
    }
    let salt = (0..<16).map { _ in UInt8.random(in: 0...UInt8.max) }
    guard let hash = PasswordHash(password: password, salt: salt) else {
      throw VidiconError(
        .failed, subject: "the password", cause: "it cannot be hashed", nextStep: "free 32 MiB of memory")
    }
    Terminal.print(hash.text)
  }
}
