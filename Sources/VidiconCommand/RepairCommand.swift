import ArgumentParser
import Media
import Recording

/// `vidicon repair`: finishes files that a crash, a power loss or a full disk has left open.
struct RepairCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "repair",
    abstract: "Finish recordings that a crash has left open.",
    discussion: "Each file becomes a plain MP4 file, in its place and in one step; a file that is one stays as it is.")

  @Argument(help: "The files.")
  var files: [String]

  func run() async throws {
    var isWhole = true
    for file in self.files {
      do throws(VidiconError) {
        Terminal.print(try await Recordings.repair(file).summary)
      } catch {
        Terminal.warn("\(error)")
        isWhole = false
      }
    }
    if !isWhole { throw ExitCode.failure }
  }
}
