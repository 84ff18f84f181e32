import Foundation
import Testing

extension EndToEnd {
  @Suite("Hostile and broken RTSP clients")
  struct Hostile {
    private static let plasma = ["--source", "plasma", "--audio", "tone", "--size", "640x360"]

    /// Serves and runs `body` while a well-behaved viewer plays.
    private func whilePlaying(
      _ options: [String] = plasma, seconds: Int, _ body: @escaping @Sendable (VidiconProcess) async throws -> Void
    ) async throws {
      try await VidiconProcess.serving(options) { vidicon in
        async let play = FFmpeg.play(vidicon.url(), seconds: seconds)
        _ = try await vidicon.status { $0.viewers == 1 }
        try await body(vidicon)
        try expectGood(await play, frameRate: 30, seconds: Double(seconds))
      }
    }

    @Test(.tags(.pacing)) func `garbage and oversize requests are refused or closed`() async throws {
      let header = "X: " + String(repeating: "a", count: 4_000) + "\r\n"
      let openings: [(name: String, bytes: [UInt8])] = [
        ("zeros", [UInt8](repeating: 0, count: 100_000)),
        ("noise", (0..<100_000).map { _ in UInt8.random(in: 0...255) }),
        ("a request line without end", Array(("DESCRIBE rtsp://" + String(repeating: "a", count: 200_000)).utf8)),
        ("a header without end", Array(("OPTIONS * RTSP/1.0\r\nCSeq: " + String(repeating: "1", count: 200_000)).utf8)),
        ("too many headers", Array(("OPTIONS * RTSP/1.0\r\n" + String(repeating: header, count: 100)).utf8)),
        (
          "a body too long",
          Array("SET_PARAMETER * RTSP/1.0\r\nCSeq: 1\r\nContent-Length: 99999999999999999999\r\n\r\n".utf8)
        ),
        ("a negative body", Array("SET_PARAMETER * RTSP/1.0\r\nCSeq: 1\r\nContent-Length: -1\r\n\r\n".utf8)),
        ("another protocol", Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8)),
        ("TLS", [0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03, 0x0d, 0x0a, 0x0d, 0x0a]),
      ]
      try await self.whilePlaying(seconds: 10) { vidicon in
        let port = vidicon.rtspPort
        for (name, bytes) in openings {
          let answered = try await waiting { () -> Bool in
            let connection = try RawConnection(port: port)
            guard connection.send(bytes) else { return true }
            switch connection.receive(within: .seconds(3)) {
            case .bytes(let reply):
              return reply.starts(with: "RTSP/1.0 4".utf8) || reply.starts(with: "RTSP/1.0 5".utf8)
            case .closed: return true
            case .nothing: return false
            }
          }
          #expect(answered, "\(name)")
        }
      }
    }

    @Test(.tags(.pacing)) func `requests out of order get an error, and the connection stays usable`() async throws {
      try await self.whilePlaying(seconds: 5) { vidicon in
        let port = vidicon.rtspPort
        let statuses = try await waiting { () -> [String: Int] in
          let dialogue = try RTSPDialogue(port: port)
          let track = dialogue.url + "/trackID=0"
          return [
            "SETUP without Transport": try dialogue.ask("SETUP", track).status,
            "PLAY before SETUP": try dialogue.ask("PLAY").status,
            "PLAY of a session that is not": try dialogue.ask("PLAY", nil, ["Session: 12345678"]).status,
            "a method of another protocol": try dialogue.ask("BREW").status,
            "OPTIONS after all that": try dialogue.ask("OPTIONS").status,
          ]
        }
        #expect((400..<500).contains(statuses["SETUP without Transport"] ?? 0), "\(statuses)")
        #expect(statuses["PLAY before SETUP"] == 455, "\(statuses)")
        #expect(statuses["PLAY of a session that is not"] == 454, "\(statuses)")
        #expect(statuses["a method of another protocol"] == 501, "\(statuses)")
        #expect(statuses["OPTIONS after all that"] == 200, "\(statuses)")
      }
    }

    @Test(.tags(.pacing))
    func `requests byte by byte and pipelined are answered, and packets of unknown channels are skipped`()
      async throws
    {
      try await self.whilePlaying(seconds: 5) { vidicon in
        let port = vidicon.rtspPort
        let statuses = try await waiting { () -> [Int] in
          let dialogue = try RTSPDialogue(port: port)
          let request = { (number: Int) in "OPTIONS * RTSP/1.0\r\nCSeq: \(number)\r\n\r\n" }
          for byte in request(1).utf8 { dialogue.connection.send([byte]) }
          var statuses = [try dialogue.reply().status]
          dialogue.connection.send(request(2) + request(3) + request(4))
          for _ in 0..<3 { statuses.append(try dialogue.reply().status) }
          let played = try dialogue.play()
          statuses.append(played.status)
          let frame: [UInt8] = [
            0x24, 0xfe, 0x00, 0x05, 1, 2, 3, 4, 5, 0x24, 0x01, 0x00, 0x00, 0x24, 0x00, 0x00, 0x01, 0xff,
          ]
          dialogue.connection.send(frame)
          let session = played.values(of: "Session").first.map { ["Session: " + $0.prefix { $0 != ";" }] } ?? []
          statuses.append(try dialogue.ask("GET_PARAMETER", nil, session).status)
          return statuses
        }
        #expect(statuses == [200, 200, 200, 200, 200, 200])
      }
    }

    @Test(.tags(.pacing))
    func `a thousand connections in a second and two hundred silent ones do not disturb a viewer`()
      async throws
    {
      try await self.whilePlaying(seconds: 12) { vidicon in
        let port = vidicon.rtspPort
        let silent = try await waiting { () -> [RawConnection] in
          try (0..<200).map { index in
            let connection = try RawConnection(port: port)
            if index.isMultiple(of: 2) { connection.send("DESCRIBE rtsp://127.0.0.1/li") }
            return connection
          }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
          for _ in 0..<4 {
            group.addTask {
              try await waiting {
                for index in 0..<250 {
                  let connection = try RawConnection(port: port)
                  if index.isMultiple(of: 3) { connection.send("OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n") }
                }
              }
            }
          }
          try await group.waitForAll()
        }
        let status = try await waiting { try RTSPDialogue(port: port).ask("OPTIONS").status }
        #expect(status == 200)
        withExtendedLifetime(silent) {}
      }
    }

    @Test(.tags(.pacing)) func `a viewer that does not read is skipped, then closed, without effect on other viewers`()
      async throws
    {
      let noise = ["--source", "noise", "--audio", "tone", "--size", "480x270", "--bitrate", "10000k"]
      try await self.whilePlaying(noise, seconds: 25) { vidicon in
        let port = vidicon.rtspPort
        let slow = try await waiting { () -> RawConnection in
          let dialogue = try RTSPDialogue(port: port, receiveBuffer: 4_096)
          guard try dialogue.play().status == 200 else { throw RTSPDialogue.Failure(what: "PLAY") }
          return dialogue.connection
        }
        _ = try await vidicon.status { $0.viewers == 2 }
        _ = try await vidicon.status(within: .seconds(22)) { $0.viewers == 1 }
        #expect(try await waiting { slow.isClosed(within: .seconds(3)) })
        let skipped = try await Metrics(of: vidicon).sum("vidicon_frames_skipped_total", "protocol=\"rtsp\"")
        #expect(try #require(skipped) > 0, "no frame was skipped before the close")
      }
    }
  }
}
