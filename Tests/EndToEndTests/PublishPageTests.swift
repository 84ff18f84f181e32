import Foundation
import Testing

extension EndToEnd {
  @Suite("The page that sends a phone's camera, in Chromium at the size of a phone")
  struct PublishPage {
    /// Output of publish_page.py.
    private struct Page: Decodable {
      struct View: Decodable {
        var cameras: [String]
        var microphones: [String]
        /// Number of the chosen camera.
        var camera: Int
        var address: String
        var state: String
        var problem: String
        var facts: String
        var isPublishing: Bool
        var previewWidth: Int
        var buttons: [String]
        /// Pixels by which the page is wider than the screen.
        var overflow: Int
      }

      var before: View
      /// With the last camera, after a flip, and after one that failed; without microphone, and with another one.
      var chosen: View?
      var flipped: View?
      var failed: View?
      var silent: View?
      var heard: View?
      var live: View?
      var after: View
      var complaints: [String]
    }

    /// Runs a client until `body` has ended, and decodes what the page has shown.
    private static func visiting(
      _ vidicon: VidiconProcess, _ options: [String] = [], _ body: () async throws -> Void
    ) async throws -> Page {
      try await TestMedia.withTemporaryFolder { folder in
        let until = "\(folder)/until"
        let url = try vidicon.securePage("/live/publish#\(WHIPPublishers.token)")
        let client = try ChildProcess(
          Tool("python3").path, [TestMedia.client("publish_page.py"), url, "--until", until] + options)
        defer { client.kill() }
        try await body()
        try Data().write(to: URL(filePath: until))
        let exit = await client.end(within: MachineShare.timeout(.seconds(40)))
        await client.output.end()
        try #require(exit == .status(0), "\(client.errors.text)")
        return try JSONDecoder().decode(Page.self, from: Data(client.output.bytes))
      }
    }

    @Test(.tags(.pacing)) func `on a phone's screen, one tap on the page sends the camera, and one ends it`()
      async throws
    {
      // Watching needs a password, which the phone does not have.
      let viewer = ["--user", "anna:secret-of-a-viewer"]
      try await VidiconProcess.serving(WHIPPublishers.source + viewer) { vidicon in
        let page = try await Self.visiting(vidicon) {
          let live = try await WHIPPublishers.live(vidicon)
          #expect(live.video == "h264")
        }
        #expect(page.before.buttons == ["start"] && page.before.overflow <= 0 && page.before.problem == "")
        // The token is in no history.
        #expect(!page.before.address.contains(WHIPPublishers.token))
        let live = try #require(page.live)
        #expect(live.isPublishing && live.state == "Live" && live.previewWidth > 0 && live.overflow <= 0)
        #expect(live.buttons == ["mute", "stop"])
        // The publisher's token suffices for the number of viewers.
        #expect(live.facts.contains("0 viewers"), "\(live.facts)")
        #expect(!page.after.isPublishing && page.after.buttons == ["start"] && page.after.previewWidth == 0)
        _ = try await vidicon.status { $0.isSlateShown == true && $0.publisher?.live == false }
      }
    }

    @Test func `a page that may not use the camera says what to do`() async throws {
      try await VidiconProcess.serving(WHIPPublishers.source) { vidicon in
        let page = try await Self.visiting(vidicon, ["--deny", "--dark"]) {}
        #expect(page.after.problem.contains("may not use the camera") && page.after.buttons == ["start"])
        #expect(page.after.overflow <= 0 && !page.after.isPublishing)
        let status = try await vidicon.status { $0.isSlateShown == true }
        #expect(status.publisher?.sessionsOpened == 0)
      }
    }

    @Test(.tags(.pacing))
    func
      `devices are exchanged within the session, and the first camera goes on where the other one fails`()
      async throws
    {
      try await VidiconProcess.serving(WHIPPublishers.source) { vidicon in
        let page = try await Self.visiting(vidicon, ["--flip"]) {
          _ = try await WHIPPublishers.live(vidicon)
          try await WHIPPublishers.expectPlays(vidicon, seconds: 8)
        }
        let (chosen, flipped) = (try #require(page.chosen), try #require(page.flipped))
        #expect(chosen.cameras.count == 3 && chosen.camera == 2 && chosen.problem == "")
        #expect(chosen.buttons == ["flip", "mute", "stop"] && chosen.microphones.last == "No microphone")
        #expect(flipped.camera == 0 && flipped.problem == "" && flipped.previewWidth > 0)
        let failed = try #require(page.failed)
        #expect(failed.problem == "The other camera cannot be used: Could not start video source")
        #expect(failed.camera == 0 && failed.previewWidth > 0 && failed.state == "Live")
        #expect(try #require(page.silent).buttons == ["flip", "stop"])
        #expect(try #require(page.heard).buttons == ["flip", "mute", "stop"] && page.heard?.problem == "")
        for view in [chosen, flipped, failed] { #expect(view.overflow <= 0) }
        // The camera is sent: its size is known.
        #expect(try #require(page.live).facts.contains("×"))
        // The end of DTLS may come before the DELETE, which then finds no session.
        #expect(page.complaints.filter { !$0.contains("status of 404") } == [])
        let status = try await vidicon.status { $0.publisher?.live == false }
        #expect(status.publisher?.sessionsOpened == 1)
      }
    }

    /// Output of page_look.py.
    private struct Looked: Decodable {
      var looks: Int
      var wrong: [String: [String]]
      var forbidden: [String]
    }

    @Test(.tags(.demanding)) func `its layout is right on phones and a desktop, in light and in dark, in every state`()
      async throws
    {
      try await TestMedia.withTemporaryFolder { folder in
        try await VidiconProcess.serving(WHIPPublishers.source) { vidicon in
          let looked: Looked = try await Browsers.drive(
            "page_look.py", [vidicon.page(""), "live", folder, "--token", WHIPPublishers.token], within: .seconds(120))
          #expect(looked.looks == 35)
          #expect(looked.wrong == [:])
          #expect(looked.forbidden == [], "the content security policy forbids what the page does")
        }
      }
    }

    /// Output of publish_survive.py.
    private struct Survived: Decodable {
      struct Step: Decodable {
        var seconds: Double
        var sessions: Int
      }

      var begin: Step
      var rebound: Step
      var moved: Step
      var failed: Step
      var slept: Step
      var killed: Step
      var states: [String]
      var methods: [String]
      var problem: String
      var exit: Int
    }

    @Test(.tags(.demanding))
    func `it goes on after other ports, another address, a network that failed for 10 s, and a restart of the server`()
      async throws
    {
      let seen: Survived = try await Browsers.drive(
        "publish_survive.py", [VidiconProcess.path()], within: .seconds(300))
      for (name, step) in [
        ("moved", seen.moved), ("failed", seen.failed), ("slept", seen.slept), ("killed", seen.killed),
      ] {
        report("publisher is back after: \(name), s", step.seconds, limit: 30)
      }
      // Other ports need nothing of the page; the server that was started again has a new session.
      #expect(seen.begin.sessions == 1 && seen.rebound.sessions == 1 && seen.killed.sessions == 1)
      #expect(seen.methods.contains("PATCH") && seen.methods.count { $0 == "POST" } >= 2, "\(seen.methods)")
      #expect(seen.states.last == "live" && seen.problem == "" && seen.exit == 0, "\(seen.states)")
    }

    /// Output of publish_warned.py.
    private struct Warned: Decodable {
      var warning: String
      var isPage: Bool
      var isSecure: Bool
      var width: Int
      var problem: String
    }

    @Test(.tags(.demanding)) func `it sends after its reader has gone on from the browser's warning`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        try await VidiconProcess.serving(WHIPPublishers.source) { vidicon in
          let page = try vidicon.securePage("/live/publish#\(WHIPPublishers.token)", host: "127.0.0.1")
          async let shown: Warned = Browsers.drive(
            "publish_warned.py", [page, "--until", "\(folder)/until"], within: .seconds(120))
          _ = try await WHIPPublishers.live(vidicon)
          try Data().write(to: URL(filePath: "\(folder)/until"))
          let seen = try await shown
          #expect(!seen.isPage && seen.warning.contains("NET::ERR_CERT_AUTHORITY_INVALID"), "\(seen.warning)")
          // The warning does not make the page an insecure one, for which browsers have no camera.
          #expect(seen.isSecure && seen.width > 0 && seen.problem == "")
        }
      }
    }

    /// Output of publish_closed.py.
    private struct Closed: Decodable {
      struct View: Decodable {
        var isSecure: Bool
        var problem: String
        var isExplained: Bool
        var secure: String
        var isTrustOffered: Bool
        var buttons: [String]
        var overflow: Int
      }

      var insecure: View
      var stranger: View
      var guess: View
    }

    @Test func `without encryption it leads to the encrypted page, and without the token it says where that is`()
      async throws
    {
      try await VidiconProcess.serving(WHIPPublishers.source + ["--host", "studio.test"]) { vidicon in
        let seen: Closed = try await Browsers.drive(
          "publish_closed.py", [vidicon.page("/live/publish#\(WHIPPublishers.token)"), "studio.test"],
          within: .seconds(60))
        let port = try #require(vidicon.started.httpsPort)
        #expect(!seen.insecure.isSecure && seen.insecure.isExplained && seen.insecure.isTrustOffered)
        #expect(
          seen.insecure.secure.hasPrefix("https://")
            && seen.insecure.secure.hasSuffix(":\(port)/live/publish#\(WHIPPublishers.token)"))
        #expect(seen.insecure.buttons == [] && seen.insecure.problem == "")
        #expect(seen.stranger.isSecure && seen.stranger.buttons == [] && !seen.stranger.isExplained)
        #expect(seen.stranger.problem.contains("lacks the token"))
        #expect(seen.guess.problem.contains("a publisher's token is required"))
        #expect(seen.guess.buttons == ["microphone", "start"])
        for view in [seen.insecure, seen.stranger, seen.guess] { #expect(view.overflow <= 0) }
        let status = try await vidicon.statusEvent { $0.refusals?["failed_login"] == 1 }
        #expect(status.streams?.first?.publisher?.sessionsOpened == 0)
      }
    }

    /// Output of publish_share.py.
    private struct Shared: Decodable {
      var viewer: [String]
      var viewersText: String
      var `operator`: [String]
      var requested: [String]
      var complaints: [String]
    }

    @Test func `the page of a stream shows operators the code for a phone, and viewers nothing of it`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let options = WHIPPublishers.source + ["--control", "operators"]
        try await VidiconProcess.serving(options, environment: ["XDG_RUNTIME_DIR": folder]) { vidicon in
          let file = "\(folder)/vidicon/control-\(vidicon.httpPort)"
          let seen: Shared = try await Browsers.drive(
            "publish_share.py", [vidicon.page("/live"), file, "\(folder)/code.png"], within: .seconds(60))
          #expect(seen.viewer == [] && !seen.viewersText.contains(WHIPPublishers.token))
          try #require(seen.operator.count == 3)
          let port = try #require(vidicon.started.httpsPort)
          #expect(seen.operator[0].hasSuffix(":\(port)/live/publish#\(WHIPPublishers.token)"))
          #expect(seen.operator[1].hasSuffix(":\(port)/live/whip") && seen.operator[2] == WHIPPublishers.token)
          let code = try await Tool.run(
            "zbarimg", ["--quiet", "--nodbus", "--raw", "\(folder)/code.png"], within: .seconds(20))
          #expect(code.outputText.trimmingCharacters(in: .newlines) == seen.operator[0])
          // Addresses are in logs and histories.
          #expect(seen.requested.allSatisfy { !$0.contains(WHIPPublishers.token) } && seen.complaints == [])
        }
      }
    }
  }
}
