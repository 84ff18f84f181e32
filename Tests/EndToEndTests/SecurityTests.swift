import Foundation
import Testing

extension EndToEnd {
  @Suite("Passwords and encryption")
  struct Security {
    private static let plasma = ["--source", "plasma", "--audio", "tone", "--size", "640x360"]
    private static let user = ["--user", "anna:open sesame"]

    @Test func `Digest with SHA-256 and MD5 and Basic are offered, each in its own header field, and accepted`()
      async throws
    {
      try await VidiconProcess.serving(Self.plasma + Self.user) { vidicon in
        let port = vidicon.rtspPort
        let offers = try await waiting { () -> [String] in
          let reply = try RTSPDialogue(port: port).ask("DESCRIBE")
          guard reply.status == 401 else { throw RTSPDialogue.Failure(what: "\(reply)") }
          return reply.values(of: "WWW-Authenticate")
        }
        #expect(offers.count == 3, "\(offers)")
        #expect(offers.first?.hasPrefix("Digest ") == true)
        #expect(offers.last?.hasPrefix("Basic ") == true)

        for (algorithm, openssl) in [("MD5", "-md5"), ("SHA-256", "-sha256")] {
          for (password, status) in [("open sesame", 200), ("open barley", 401)] {
            let answered = try await self.digest(port: port, password: password, algorithm: algorithm, openssl: openssl)
            #expect(answered == status, "\(algorithm), \(password)")
          }
        }
        for (password, status) in [("open sesame", 200), ("open barley", 401)] {
          let login = Data("anna:\(password)".utf8).base64EncodedString()
          let answered = try await waiting {
            try RTSPDialogue(port: port).ask("DESCRIBE", nil, ["Authorization: Basic \(login)"]).status
          }
          #expect(answered == status, "Basic, \(password)")
        }
      }
    }

    /// Status of a DESCRIBE with Digest authentication, RFC 2617 §3.2.2 and RFC 7616.
    private func digest(port: Int, password: String, algorithm: String, openssl: String) async throws -> Int {
      let dialogue = try RTSPDialogue(port: port)
      let offers = try dialogue.ask("DESCRIBE").values(of: "WWW-Authenticate")
      let offer = try #require(
        offers.first { offer in
          offer.hasPrefix("Digest ")
            && (Self.parameter("algorithm", of: offer) ?? "MD5") == algorithm
        }, "\(offers)")
      let realm = try #require(Self.parameter("realm", of: offer))
      let nonce = try #require(Self.parameter("nonce", of: offer))
      let secret = try await self.hash("anna:\(realm):\(password)", openssl)
      let request = try await self.hash("DESCRIBE:\(dialogue.url)", openssl)
      let qualified = Self.parameter("qop", of: offer) != nil
      let middle = qualified ? "\(nonce):00000001:0a4f113b:auth" : nonce
      let response = try await self.hash("\(secret):\(middle):\(request)", openssl)
      var fields = [
        "username=\"anna\"", "realm=\"\(realm)\"", "nonce=\"\(nonce)\"", "uri=\"\(dialogue.url)\"",
        "response=\"\(response)\"", "algorithm=\(algorithm)",
      ]
      if qualified { fields += ["qop=auth", "nc=00000001", "cnonce=\"0a4f113b\""] }
      return try dialogue.ask("DESCRIBE", nil, ["Authorization: Digest " + fields.joined(separator: ", ")]).status
    }

    /// Value of a parameter in a header field such as `Digest realm="a", algorithm=MD5`.
    private static func parameter(_ name: String, of header: String) -> String? {
      let parts = header.drop { $0 != " " }.split(separator: ",")
      for part in parts {
        let pair = part.trimmingCharacters(in: .whitespaces).split(separator: "=", maxSplits: 1)
        if pair.count == 2, pair[0] == name { return pair[1].trimmingCharacters(in: ["\""]) }
      }
      return nil
    }

    /// Hash of a text in hexadecimal digits.
    private func hash(_ text: String, _ algorithm: String) async throws -> String {
      try await TestMedia.withTemporaryFolder { folder in
        try Data(text.utf8).write(to: URL(fileURLWithPath: "\(folder)/text"))
        let run = try await Tool.run("openssl", ["dgst", algorithm, "-r", "\(folder)/text"], within: .seconds(5))
        return String(run.outputText.prefix { $0 != " " })
      }
    }
  }
}
