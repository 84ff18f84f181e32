import Foundation
import Testing

extension EndToEnd {
  @Suite("Requests generated from the OpenAPI document")
  struct GeneratedRequests {
    private static let tokens = ["viewer": "viewer-0123456789abcdef", "operator": "operator-0123456789abcdef"]

    @Test(.tags(.demanding), arguments: ["viewer", "operator"])
    func `schemathesis finds no failure, as viewer and as operator`(role: String) async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let users = "\(folder)/users"
        let lines = Self.tokens.map { "\($0) token=\($1)\n" }.joined()
        try lines.write(toFile: users, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: users)
        let options = [
          "--source", "bars", "--audio", "tone", "--size", "320x180", "--fps", "15", "--recordings", folder,
          "--control", "operators", "--user-file", users,
        ]
        try await VidiconProcess.serving(options) { vidicon in
          let packages = TestMedia.checkout.appendingPathComponent(".build-media/schemathesis").path
          let run = try await Tool.run(
            "python3",
            [
              TestMedia.client("api_fuzz.py"), vidicon.page(""), try #require(Self.tokens[role]), "--packages",
              packages,
            ], within: .seconds(30))
          #expect(run.succeeded, "\(run.outputText.suffix(4_000))\(run.errors.suffix(2_000))")
          // Each phase has sent requests.
          for phase in ["Examples", "Coverage", "Fuzzing"] {
            #expect(run.outputText.contains("✅ \(phase)"), "\(phase)")
          }
        }
      }
    }
  }
}
