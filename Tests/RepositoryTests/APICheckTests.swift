import Foundation
import Testing

/// The functions of `scripts/api.bash`, and `scripts/api-check` where it has nothing to build.
@Suite("scripts/api-check, which compares the public API with that of a release")
struct APICheckTests {
  /// Runs a line of Bash with the functions; its arguments are `$1`, `$2` and so on.
  private func call(_ line: String, _ arguments: String...) throws -> (status: Int32, output: String, errors: String) {
    try Repository.run(["bash", "-c", "set -euo pipefail\nsource scripts/api.bash\n\(line)", "bash"] + arguments)
  }

  @Test(
    arguments: [
      ("0.1.0", "0.1.0", false), ("0.1.0", "0.1.1", false), ("0.1.0", "0.1.10", false), ("0.1.0", "0.2.0", true),
      ("0.1.9", "0.2.0", true), ("0.9.3", "0.10.0", true), ("0.10.0", "0.9.0", false), ("0.2.0", "0.1.0", false),
      ("0.2.0", "0.4.1", true), ("0.9.0", "1.0.0", true), ("1.0.0", "1.0.1", false), ("1.0.0", "1.1.0", false),
      ("1.9.9", "1.10.0", false), ("1.2.3", "2.0.0", true), ("1.2.3", "3.1.0", true), ("9.0.0", "10.0.0", true),
      ("2.0.0", "1.9.0", false), ("1.0.0", "0.9.0", false),
    ])
  func `the second number before 1 and the first one later allow breakages`(
    earlier: String, version: String, allows: Bool
  ) throws {
    #expect(try self.call("allows_breakage \"$1\" \"$2\"", earlier, version).status == (allows ? 0 : 1))
  }

  @Test(arguments: [("0.1.0", "0.2.0"), ("0.9.4", "0.10.0"), ("1.0.0", "2.0.0"), ("9.8.7", "10.0.0")])
  func `the next version that may break is named`(earlier: String, next: String) throws {
    #expect(try self.call("next_breaking_version \"$1\"", earlier).output == "\(next)\n")
  }

  /// Judges a comparison with an exit status and a log; returns the status and all that is printed.
  private func judge(_ earlier: String, _ version: String, status: Int, _ log: String) throws -> (Int32, String) {
    let line = """
      log=$(mktemp)
      trap 'rm -f "$log"' EXIT
      printf '%s\\n' "$4" >"$log"
      judge_api "$1" "$2" "$3" "$log" 2>&1
      """
    let run = try self.call(line, earlier, version, "\(status)", log)
    return (run.status, run.output)
  }

  /// Output of SwiftPM for a module without breakages, and one with two.
  private static let broken = """

    No breaking changes detected in RTP

    2 breaking changes detected in Media:
      💔 API breakage: func MediaTime.rounded(error:) has been removed
      💔 API breakage: var MediaTime.state has declared type change from : error: to Int
    """

  @Test func `a module without breakages keeps the promise`() throws {
    let (status, output) = try self.judge("0.1.0", "0.1.1", status: 0, "\nNo breaking changes detected in RTP")
    #expect(status == 0 && output == "api-check: 0.1.1 keeps the promise of 0.1.0\n")
  }

  @Test(arguments: [("0.2.0", 0), ("0.1.1", 1)] as [(String, Int32)])
  func `breakages are printed, whether the version allows them or not`(version: String, expected: Int32) throws {
    let (status, output) = try self.judge("0.1.0", version, status: 1, Self.broken)
    #expect(status == expected)
    #expect(
      output.hasPrefix(
        """
        broken: func MediaTime.rounded(error:) has been removed
        broken: var MediaTime.state has declared type change from : error: to Int
        api-check: \(version) may \(expected == 0 ? "" : "not ")break the promise of 0.1.0; breakages: 2
        """), "\(output)")
    #expect(output.contains("make it 0.2.0") == (expected != 0))
  }

  @Test func `a product that is gone is a breakage, though SwiftPM finds none`() throws {
    let log = "No breaking changes detected in RTP\nAPI breakage: product HLS has been removed"
    let (status, output) = try self.judge("1.0.0", "1.1.0", status: 0, log)
    #expect(status == 1 && output.hasPrefix("broken: product HLS has been removed\n"), "\(output)")
  }

  @Test(
    arguments: [
      (1, "error: no such module"), (1, "/tmp/A.swift:1:2: error: no such module\n\(Self.broken)"), (1, ""),
      (1, "API breakage: product HLS has been removed"), (0, "error: failed to read API digester output for RTP"),
    ])
  func `a comparison that fails is no promise kept, also where breakages are allowed`(status: Int, log: String) throws {
    let (result, output) = try self.judge("0.1.0", "0.2.0", status: status, log)
    #expect(result == 1 && output.hasPrefix("api-check: the comparison failed with status \(status)"), "\(output)")
  }

  @Test func `an open class that no library promises may change`() throws {
    let log = """
      1 breaking change detected in Serving:
        💔 API breakage: func MediaConnection.receive(_:) has been removed
      """
    #expect(try self.judge("1.0.0", "1.0.1", status: 1, log).0 == 0)
    let other = log.replacing("MediaConnection.receive", with: "MediaConnections.receive")
    #expect(try self.judge("1.0.0", "1.0.1", status: 1, other).0 == 1)
  }

  @Test func `re-exports that are gone are found, but not types of a module that is re-exported whole`() throws {
    let earlier = """
      // @_exported public import Old
      @_exported public import Media
      @_exported public import class Serving.StreamPushes
      @_exported public import struct Serving.PushEvent
      @_exported public import struct RTMP.RTMPURL
      internal import NIOCore
      """
    let later = """
      @_exported public import Serving
      @_exported public import struct Media.MediaTime
      @_exported public import struct RTMP.RTMPURL
      """
    let run = try self.call("missing \"$(reexports <<<\"$1\")\" \"$(reexports <<<\"$2\")\"", earlier, later)
    #expect(run.status == 0 && run.output == "Media\n", "\(run)")
  }

  @Test func `promised products are libraries whose names do not begin with an underscore`() throws {
    let description = """
      {"products": [{"name": "Media", "type": {"library": ["automatic"]}}, {"name": "vidicon", "type": {"executable": null}},
      {"name": "_FuzzBodies", "type": {"library": ["automatic"]}}, {"name": "RTP", "type": {"library": ["automatic"]}}]}
      """
    #expect(try self.call("promised_products <<<\"$1\"", description).output == "Media\nRTP\n")
  }

  /// SwiftPM compares the targets of libraries only, so that the others are those of a library without a promise.
  @Test func `what Vidicon re-exports of other targets is compared too`() throws {
    let text = try String(contentsOf: Repository.top.appending(path: "Package.swift"), encoding: .utf8)
    let product = try #require(text.firstMatch(of: /\.library\(\s*name: "_Reexported",\s*targets: \[([^\]]*)\]/))
    let targets = Set(product.1.matches(of: /"(\w+)"/).map { String($0.1) })
    let exports = try #require(try Repository.swiftFiles(in: "Sources/Vidicon/Vidicon.swift").first)
    let libraries = try PackageManifest.ofRepository().libraries
    let access = PublicAccess(libraries: libraries, exports: exports)
    #expect(!targets.isEmpty && targets == access.rooms.union(access.types.keys).subtracting(libraries))
  }

  @Test(.enabled(if: Repository.isCheckout)) func `a revision that is not there is an error`() throws {
    let run = try Repository.run(["scripts/api-check", "no-such-revision"])
    #expect(run.status == 1 && run.errors.contains("there is no revision no-such-revision here"), "\(run)")
    #expect(try Repository.run(["scripts/api-check", "--all"]).status == 64)
  }
}
