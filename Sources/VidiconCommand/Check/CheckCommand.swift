import ArgumentParser
import Foundation
import Media
import MediaInput

/// `vidicon check`: finds out whether this machine can do what a configuration asks for, or whether a stream plays, and names what is
/// wrong.
struct CheckCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check",
    abstract: "Check this machine for what serve needs, or a stream: what is wrong, and how to mend it.",
    discussion: """
      Without an address, takes the options of serve, --config among them, and serves nothing: ports are opened and closed, devices \
      asked for their formats, and two seconds of video encoded. Ends within six seconds. With the address of a stream over RTSP, HLS, \
      Motion JPEG, RTMP or WebRTC (WHEP), plays it for some seconds as clients do, and says for each whether it plays; of the other \
      options it has --json. Ends within twelve seconds. The status is 0 where all is right, 1 with a warning, 2 with a fault. --json \
      prints one object; docs/check.md describes it.
      """)

  @Argument(
    help: "The address of a stream, such as rtsp://USER:PASSWORD@HOST/PATH; without one, this machine is checked.")
  var url: String?

  @Option(help: "Write the findings and what was observed of a stream to a file, for a bug report; without secrets.")
  var report: String?

  @OptionGroup var serve: ServeCommand

  func run() async throws {
    if let url {
      try await self.checkStream(url)
    } else {
      guard self.report == nil else {
        throw VidiconError.usage("--report", "it is about a stream", "give the address of one, or leave it out")
      }
      ProcessLimits.raiseOpenFiles()
      let reading = await ConfigurationReading.read(self.serve, within: .seconds(1))
      let report = await MachineCheck(reading).run()
      try self.show(Self.isRootShell ? report.forRoot : report)
    }
  }

  /// Whether commands are for a shell of root: with sudo(8), it is that of another user.
  private static var isRootShell: Bool {
    geteuid() == 0 && ProcessInfo.processInfo.environment["SUDO_UID"] == nil
  }

  private func checkStream(_ url: String) async throws {
    let specification = try NetworkSpecification(parsing: url)
    if let path = self.report { try Self.requireWritable(path) }
    let verdict = try await StreamCheck(specification).run()
    let report = CheckReport(verdict.sections)
    var failure: VidiconError?
    if let path = self.report {
      let text = StreamCheckReport(
        address: specification.description, report: report, observations: verdict.observations
      )
      .text
      do {
        try text.write(toFile: path, atomically: true, encoding: .utf8)
      } catch {
        failure = Self.unwritable(path)
      }
    }
    if let failure {
      self.display(report)
      throw failure
    }
    try self.show(report)
  }

  private static func unwritable(_ path: String) -> VidiconError {
    VidiconError(
      .failed, path: path, cause: "the report cannot be written", nextStep: "give a file in a folder of yours")
  }

  /// Finds out whether a report can be written, before a stream is played for it.
  ///
  /// - Throws: ``VidiconError`` where the path is a folder, or its folder is missing or not writable.
  static func requireWritable(_ path: String) throws(VidiconError) {
    let manager = FileManager.default
    var isFolder: ObjCBool = false
    let exists = manager.fileExists(atPath: path, isDirectory: &isFolder)
    let parent = (path as NSString).deletingLastPathComponent
    guard !(exists && isFolder.boolValue), manager.isWritableFile(atPath: parent.isEmpty ? "." : parent) else {
      throw self.unwritable(path)
    }
  }

  private func show(_ report: CheckReport) throws {
    self.display(report)
    if report.exitStatus != 0 { throw ExitCode(report.exitStatus) }
  }

  private func display(_ report: CheckReport) {
    if self.serve.options.json {
      Terminal.print(json: report.entry)
      // Without a time limit: no stream runs that a slow reader could delay.
      LineWriter.standardOutput.flush(within: nil)
    } else {
      for line in report.lines { Terminal.print(line) }
    }
  }
}
