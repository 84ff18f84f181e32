package import ArgumentParser
import Libc
internal import Media

/// The program: parses the command line, and reports every failure as one line and an exit status.
package struct RootCommand: AsyncParsableCommand {
  package static let configuration = CommandConfiguration(
    commandName: "vidicon",
    abstract: "Turns any camera, screen, file or generated video into a live network camera, and records it.",
    version: ProgramVersion.text,
    subcommands: [
      ServeCommand.self, RecordCommand.self, RepairCommand.self, DevicesCommand.self, StatusCommand.self,
      ControlCommand.self, ReloadCommand.self, CheckCommand.self, ConfigCommand.self, PasswordCommand.self,
      SetupCommand.self,
    ])

  package init() {}

  package static func main() async {
    await Self.main(nil)
  }

  /// A message of the parser, which quotes arguments: without those that may have a password.
  static func withoutSecrets(_ message: String, arguments: [String]) -> String {
    func isUser(_ argument: String) -> Bool { ["--user", "--operator"].contains { argument.hasPrefix($0) } }
    // Of `--user anna sesame` and `--user -sesame`, what belongs to no option is the password.
    let strays = zip(arguments, arguments.dropFirst()).filter { isUser($0.0) }.map(\.1)
    let mayQuoteSecret =
      message.contains("nexpected argument")
      && arguments.contains { argument in isUser(argument) || argument.contains { ":@".contains($0) } }
    if mayQuoteSecret || strays.contains(where: { !$0.isEmpty && message.contains("'\($0)'") }) {
      return "an argument belongs to no option; write NAME:PASSWORD as one word"
    }
    let values = arguments.flatMap { argument in
      [argument] + (argument.firstIndex(of: "=").map { [String(argument[argument.index(after: $0)...])] } ?? [])
    }
    return values.sorted { $0.utf8.count > $1.utf8.count }.reduce(message) { message, value in
      let shown = value.withoutCredentials()
      return shown == value ? message : message.replacing(value, with: shown)
    }
  }

  /// Runs the program with these arguments; nil for those of the process.
  static func main(_ arguments: [String]?) async {
    TerminationSignals.ignoreFailedWrites()
    // Before the arguments are parsed: a wrong one is a line of the log, too.
    Terminal.setLogFormat(LogFormat.requested(by: arguments ?? Array(CommandLine.arguments.dropFirst())))
    do {
      var command = try Self.parseAsRoot(arguments)
      // From here on Ctrl-C ends the program in order, except where it only asks questions, which end at once.
      if !(command is SetupCommand || command is PasswordCommand) { _ = TerminationSignals.shared }
      if var command = command as? any AsyncParsableCommand {
        try await command.run()
      } else {
        try command.run()
      }
      let hasLog = command is ServeCommand || command is RecordCommand
      Terminal.flush(ending: hasLog ? [LogEvent(.stopped, .notice)] : [])
    } catch let error as VidiconError {
      Terminal.fail(error.description, status: error.exitStatus)
    } catch let code as ExitCode {
      // The command has reported its result; waits until queued lines are written.
      Terminal.flush()
      Self.exit(withError: code)
    } catch {
      // ArgumentParser reports requests for help and the version as errors with status 0.
      if Self.exitCode(for: error).isSuccess { Self.exit(withError: error) }
      let message = Self.withoutSecrets(Self.message(for: error), arguments: arguments ?? CommandLine.arguments)
      Terminal.fail(
        "\(message.hasSuffix(".") ? String(message.dropLast()) : message); see vidicon --help", status: EX_USAGE)
    }
  }
}
