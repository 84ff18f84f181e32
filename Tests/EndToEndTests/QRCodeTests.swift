import Discovery
import Foundation
import Testing

extension EndToEnd {
  @Suite("QR codes, decoded by zbarimg")
  struct QRCodes {
    static let texts = [
      "http://192.168.2.67:8080/hello", "https://[2001:db8::2]:8443/front%20door", "küche ☕️", "x",
      "http://h/" + String(repeating: "a1/", count: 167),
    ]

    @Test(arguments: texts) func `the SVG image decodes to its text`(text: String) async throws {
      try await TestMedia.withTemporaryFolder { folder in
        try QRCode(text).svg.write(toFile: "\(folder)/code.svg", atomically: true, encoding: .utf8)
        let drawing = try await Tool.run(
          "rsvg-convert", ["--width", "600", "--output", "\(folder)/code.png", "\(folder)/code.svg"],
          within: .seconds(10))
        #expect(drawing.succeeded, "\(drawing.errors)")
        let read = try await Self.read("\(folder)/code.png")
        #expect(read == text)
      }
    }

    @Test(arguments: texts) func `the terminal rendering decodes to its text`(text: String) async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let lines = try #require(try QRCode(text).terminalLines(columns: 200, rows: 100))
        let read = try await Self.read(lines, folder: folder)
        #expect(read == text)
      }
    }

    /// Runs the program on a terminal, and returns the lines that keys.py has seen of it.
    private static func lines(_ how: String, _ options: [String], folder: String) async throws -> [String] {
      struct Seen: Decodable {
        var shown: String
        var exit: Int32
      }
      let ports = ["--rtsp-port", "0", "--http-port", "0", "--no-discovery"]
      let run = try await Tool.run(
        "env",
        [
          "XDG_RUNTIME_DIR=\(folder)", "XDG_STATE_HOME=\(folder)", try Tool("python3").path,
          TestMedia.client("keys.py"), how, try VidiconProcess.path(), "serve",
        ] + ports + options,
        within: .seconds(60))
      try #require(run.succeeded, "\(run.errors)")
      let seen = try JSONDecoder().decode(Seen.self, from: Data(run.output))
      #expect(seen.exit == 0)
      // The status before a line is erased, ECMA-48 §8.3.39.
      return seen.shown.split(separator: "\r\n").map { $0.components(separatedBy: "\u{1B}[J").last ?? "" }
    }

    @Test func `each stream that waits for a phone has its code on the terminal, with its own token`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let options = [
          "--https-port", "0", "--webrtc-port", "0", "--stream", "name=left,source=whip:", "--stream",
          "name=right,source=whip:",
        ]
        let lines = try await Self.lines("start", options, folder: folder)
        let pages = lines.filter { $0.contains("Phone") }.compactMap { $0.split(separator: " ").last.map(String.init) }
        #expect(pages.count == 2 && Set(pages.compactMap { $0.split(separator: "#").last }).count == 2, "\(pages)")
        // 128 bits.
        let haveTokens = pages.allSatisfy { $0.wholeMatch(of: #/https://[^#]+#[0-9a-f]{32}/#) != nil }
        #expect(haveTokens, "\(pages)")
        for name in ["left", "right"] {
          let isShown = lines.contains { $0.contains("WHEP  ") && $0.hasSuffix("/\(name)/whep") }
          #expect(isShown, "no address for players of WHEP: \(lines.joined(separator: "\n"))")
        }
        // The name of the stream stands above each code.
        let isCode = lines.map { $0.contains { "▀▄█".contains($0) } }
        let starts = lines.indices.filter { isCode[$0] && ($0 == 0 || !isCode[$0 - 1]) }
        let names = starts.map { start in
          // Without colors, ECMA-48 §8.3.117, and the margin of the code.
          lines[..<start].map { $0.replacing(#/\u{1B}\[[0-9;]*m/#, with: "").trimmingCharacters(in: .whitespaces) }
            .last { !$0.isEmpty }
        }
        #expect(names == ["left", "right"])
        var codes: [String] = []
        for start in starts {
          let code = lines[start...].prefix { $0.contains { "▀▄█".contains($0) } }
          codes.append(try await Self.read(Array(code), folder: folder))
        }
        #expect(codes == pages)
      }
    }

    @Test func `the key c shows the control address, which an operator's phone reads`() async throws {
      try await TestMedia.withTemporaryFolder { folder in
        let lines = try await Self.lines("control", ["--no-qr", "--source", "bars"], folder: folder)
        // Outside of #require: Swift 6.3.1 gives a closure in the macro the symbol of the one after it.
        let word = lines.last { $0.contains("#control=") }?.split(separator: " ").last
        let address = String(try #require(word, "\(lines)"))
        #expect(address.wholeMatch(of: #/http://[^/]+/live#control=[0-9A-Za-z_-]{16,}/#) != nil, "\(address)")
        let code = lines.filter { $0.contains { "▀▄█".contains($0) } }
        let read = try await Self.read(code, folder: folder)
        #expect(read == address, "\(lines.joined(separator: "\n"))")
      }
    }

    /// Decodes the lines of a terminal. Each character becomes two modules of 4 by 4 pixels, one above the other.
    private static func read(_ lines: [String], folder: String) async throws -> String {
      var rows: [[UInt8]] = []
      for line in lines {
        let characters = line.filter { " ▀▄█".contains($0) }
        rows.append(characters.map { "▀█".contains($0) ? 0 : 255 })
        rows.append(characters.map { "▄█".contains($0) ? 0 : 255 })
      }
      // The lines of the margin have no modules: zbarimg does not find each code without one, ISO/IEC 18004 §6.3.8.
      let margin = Array(repeating: [UInt8](repeating: 255, count: rows.first?.count ?? 0), count: 4)
      rows = margin + rows + margin
      let pixels = rows.flatMap { row in
        Array(repeating: row.flatMap { Array(repeating: $0, count: 4) }, count: 4).joined()
      }
      let header = "P5 \((rows.first?.count ?? 0) * 4) \(rows.count * 4) 255\n"
      try Data(Array(header.utf8) + pixels).write(to: URL(fileURLWithPath: "\(folder)/code.pgm"))
      return try await Self.read("\(folder)/code.pgm")
    }

    private static func read(_ frame: String) async throws -> String {
      let run = try await Tool.run("zbarimg", ["--quiet", "--nodbus", "--raw", frame], within: .seconds(10))
      #expect(run.succeeded, "\(run)")
      return String(run.outputText.dropLast())  // Without zbarimg's newline.
    }
  }
}
