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

    @Test func `the key c shows the control address, which an operator's phone reads`() async throws {
      struct Seen: Decodable {
        var shown: String
        var exit: Int32
      }
      try await TestMedia.withTemporaryFolder { folder in
        let options = ["--rtsp-port", "0", "--http-port", "0", "--no-discovery", "--no-qr", "--source", "bars"]
        let run = try await Tool.run(
          "env",
          ["XDG_RUNTIME_DIR=\(folder)", try Tool("python3").path, TestMedia.client("keys.py"), "control"]
            + [try VidiconProcess.path(), "serve"] + options,
          within: .seconds(60))
        try #require(run.succeeded, "\(run.errors)")
        let seen = try JSONDecoder().decode(Seen.self, from: Data(run.output))
        #expect(seen.exit == 0)
        // The status before a line is erased, ECMA-48 §8.3.39.
        let lines = seen.shown.split(separator: "\r\n").map { $0.components(separatedBy: "\u{1B}[J").last ?? "" }
        let address = try #require(
          lines.last { $0.contains("#control=") }?.split(separator: " ").last.map(String.init), "\(seen.shown)")
        #expect(address.wholeMatch(of: #/http://[^/]+/live#control=[0-9A-Za-z_-]{16,}/#) != nil, "\(address)")
        let code = lines.filter { $0.contains { "▀▄█".contains($0) } }
        let read = try await Self.read(code, folder: folder)
        #expect(read == address)
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
      let pixels = rows.flatMap { row in
        Array(repeating: row.flatMap { Array(repeating: $0, count: 4) }, count: 4).joined()
      }
      let header = "P5 \((rows.first?.count ?? 0) * 4) \(rows.count * 4) 255\n"
      try Data(Array(header.utf8) + pixels).write(to: URL(fileURLWithPath: "\(folder)/code.pgm"))
      return try await Self.read("\(folder)/code.pgm")
    }

    private static func read(_ frame: String) async throws -> String {
      let run = try await Tool.run("zbarimg", ["--quiet", "--nodbus", "--raw", frame], within: .seconds(10))
      return String(run.outputText.dropLast())  // Without zbarimg's newline.
    }
  }
}
