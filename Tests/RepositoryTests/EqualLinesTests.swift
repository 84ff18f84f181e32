import Testing

/// One shape for all protocols: what two servers need is in `Serving`, once.
@Suite("Lines that protocols share")
struct EqualLinesTests {
  private static let rooms = ["RTMPServer", "RTSPServer", "WebRTCServer", "HLSServer"]

  private static let other = SwiftText(
    path: "/Sources/RTSPServer/A.swift",
    text: """
      import NIOCore

      let alpha = RTSPFirst("a")
      let beta = second()
      // Between two lines.
      let gamma = third()
      return
      let delta = fourth()
      """)

  @Test(
    arguments: [
      ("let alpha = RTMPFirst(\"b\")\nlet beta = second()\nlet gamma = third()", 3, 3),
      ("let alpha = RTMPFirst(\"\")\n  let beta = second()\n\nlet gamma = third()  // C.\nlet delta = fourth()", 4, 4),
      ("let zeta = fifth()\nlet beta = second()\nlet gamma = third()\nlet delta = fourth()", 4, 3),
      ("let alpha = RTMPFirst(\"a\")\nlet beta = second()", 2, 0),
      ("let alpha = other()\nlet beta = second()\nlet zeta = fifth()\nlet gamma = third()", 4, 0),
      ("// let alpha = RTMPFirst()\n// let beta = second()\n// let gamma = third()", 0, 0),
      ("import NIOCore\nlet beta = second()\nlet gamma = third()", 2, 0),
    ] as [(String, Int, Int)])
  func `lines are equal in runs of three`(text: String, count: Int, equal: Int) {
    let lines = EqualLines([SwiftText(path: "/Sources/RTMPServer/A.swift", text: text)], in: [Self.other])
    #expect(lines.count == count && lines.equal.count == equal, "\(lines)")
  }

  @Test func `a run ends with its file`() {
    let files = ["let alpha = RTMPFirst()", "let beta = second()", "let gamma = third()"].map {
      SwiftText(path: "/Sources/RTMPServer/A.swift", text: $0)
    }
    #expect(EqualLines(files, in: [Self.other]).equal == [])
    #expect(EqualLines([Self.other], in: files).equal == [])
  }

  /// Pushes, which have the names of what they send in every protocol, are left out.
  @Test func `no server of a protocol has more than a fiftieth of its lines from another one`() throws {
    let rooms = try Self.rooms.map { room in
      (room, try Repository.swiftFiles(in: "Sources/\(room)").filter { !$0.path.has("/Pushes/") })
    }
    for (room, files) in rooms {
      for (other, others) in rooms where other != room {
        let found = EqualLines(files, in: others)
        #expect(found.count > 100, "\(room)")
        #expect(found.equal.count * 50 <= found.count, "\(room), \(other): \(found.equal)")
      }
    }
  }
}
