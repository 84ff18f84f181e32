import ArgumentParser

/// `vidicon check`: finds out whether this machine can do what a configuration asks for, and names what is wrong.
struct CheckCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check", abstract: "Check this machine for what serve needs: what is wrong, and how to mend it.",
    discussion: """
      Takes the options of serve, --config among them, and serves nothing: ports are opened and closed, devices asked for their \
      formats, and two seconds of video encoded. Ends within six seconds, with status 0 where all is right, 1 with a warning, 2 with \
      a fault. --json prints one object; docs/check.md describes it.
      """)

  @OptionGroup var serve: ServeCommand

  func run() async throws {
    ProcessLimits.raiseOpenFiles()
    let reading = await ConfigurationReading.read(self.serve, within: .seconds(1))
    let report = await MachineCheck(reading).run()
    if self.serve.options.json {
      Terminal.print(json: report.entry)
      // Without a time limit: no stream runs that a slow reader could delay.
      LineWriter.standardOutput.flush(within: nil)
    } else {
      for line in report.lines { Terminal.print(line) }
    }
    if report.exitStatus != 0 { throw ExitCode(report.exitStatus) }
  }
}
