import Foundation
import Testing

/// `Packaging/manual.py`, which makes the manual page of the program's help.
@Suite("The manual page of the package")
struct ManualPageTests {
  /// A program's help in JSON, with these commands, as `--experimental-dump-help` writes it.
  private static func help(_ commands: [String]) -> String {
    let list = commands.map { #"{"commandName": "\#($0)", "abstract": "Do it.", "shouldDisplay": true}"# }
    let subcommands = list.joined(separator: ", ")
    return #"{"command": {"commandName": "vidicon", "abstract": "A camera.", "subcommands": [\#(subcommands)]}}"#
  }

  /// The lines of a page.
  private static func page(_ commands: [String]) throws -> [String] {
    let line = #"printf '%s' "$1" | python3 -B Packaging/manual.py 0.1.0 2026-11-29"#
    let run = try Repository.run(["bash", "-c", "set -euo pipefail\n\(line)", "bash", self.help(commands)])
    #expect(run.status == 0, "\(run.errors)")
    return run.output.components(separatedBy: "\n")
  }

  @Test func `the page has the exit statuses of a check beside those of all commands`() throws {
    let page = try Self.page(["serve", "check"])
    let section = try #require(page.firstIndex(of: ".SH EXIT STATUS"))
    #expect(page[section + 1].hasPrefix("0 after success, 64 for a wrong option"))
    #expect(page[section + 3] == #"\fBvidicon check\fR: 0 where all is right, 1 with a warning, 2 with a fault."#)
    #expect(try Self.page(["serve"]).contains { $0.contains("2 with a fault") } == false)
  }
}
