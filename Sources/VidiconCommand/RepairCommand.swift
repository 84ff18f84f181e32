import ArgumentParser
import Media
import Recording

/// `vidicon repair`: finishes recordings that a crash, a power loss or a full disk left unfinished.
struct RepairCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "repair",
    abstract: "Finish recordings that a crash left unfinished.",
    discussion: "Each file is replaced by a plain MP4 file in one step; a plain file stays as it is.")

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
