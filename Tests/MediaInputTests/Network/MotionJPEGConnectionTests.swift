import Foundation
import Media
import NIOCore
import Synchronization
import TestSupport
import Testing

@testable import MediaInput

@Suite("Motion JPEG over HTTP", .timeLimit(.minutes(5)))
struct MotionJPEGConnectionTests {
  /// A frame of 160 × 96.
  private static func image() throws -> [UInt8] {
    let path = try TestMedia.path(
      "motion.jpg", ["-f", "lavfi", "-i", "testsrc=s=160x96:r=1:d=1", "-frames:v", "1", "-pix_fmt", "yuvj420p"])
    return [UInt8](try Data(contentsOf: URL(filePath: path)))
  }

  /// Forms in which devices send parts: the header field, text before and behind an image; `LENGTH` is that of the image.
  private static let forms: [(name: String, type: String, before: String, behind: String)] = [
    ("RFC 2046", "multipart/x-mixed-replace; boundary=b", "--b\r\nContent-Type: image/jpeg\r\n\r\n", "\r\n"),
    (
      "ESP32-CAM: delimiters behind the parts", "multipart/x-mixed-replace;boundary=b",
      "Content-Type: image/jpeg\r\nContent-Length: LENGTH\r\n\r\n", "\r\n--b\r\n"
    ),
    (
      "dashes within the parameter", "multipart/x-mixed-replace;boundary=--b",
      "--b\r\nContent-Type: image/jpeg\r\nContent-Length: LENGTH\r\n\r\n", "\r\n"
    ),
    (
      "no line end before the delimiter", "multipart/x-mixed-replace;boundary=b",
      "--b\r\nContent-Type: image/jpeg\r\nContent-Length: LENGTH\r\n\r\n", ""
    ),
    ("no parameter, a wrong length", "Multipart/X-Mixed-Replace", "--b\nContent-Length: 3\n\n", "\n"),
  ]

  private static func server(
    _ type: String, before: String, behind: String, count: Int, connections: @escaping @Sendable () -> Void = {}
  ) throws -> LocalServer {
    let image = try Self.image()
    let head = before.replacing("LENGTH", with: "\(image.count)")
    return try LocalServer { connection in
      connections()
      _ = connection.readHead()
      connection.write("HTTP/1.0 200 OK\r\nContent-Type: \(type)\r\n\r\n")
      for _ in 0..<count {
        connection.write(head)
        connection.write(image)
        connection.write(behind)
      }
      connection.waitForEnd()
    }
  }

  private static func open(_ server: LocalServer) throws -> any NetworkConnection {
    try NetworkConnections.open(
      NetworkSpecification(parsing: "http://127.0.0.1:\(server.port)/stream"), interrupt: LibavInterrupt())
  }

  @Test(arguments: Self.forms.indices) func `images are read in every form, over one connection`(index: Int) throws {
    let form = Self.forms[index]
    let count = SharedCount()
    let server = try Self.server(form.type, before: form.before, behind: form.behind, count: 3) { count.increase() }
    let connection = try Self.open(server)
    #expect(connection.pace == .unheld && connection.tracks.audio == nil, "\(form.name)")
    #expect(connection.tracks.video?.format.width == 160 && connection.tracks.video?.format.height == 96)
    let image = try Self.image()
    var images = 0
    while images < 3 {
      guard case .packet(let packet)? = try connection.read() else { continue }
      #expect(
        Array(packet.bytes.readableBytesView) == image && packet.isKeyframe && packet.decodeTime == nil, "\(form.name)")
      images += 1
    }
    #expect(count.value == 1)
  }

  @Test func `the end of the response is the end of the source, and no image is an error`() throws {
    let image = try Self.image()
    for (body, isOpened) in [(image, true), (Array("--b\r\nContent-Type: text/plain\r\n\r\nhello\r\n".utf8), false)] {
      let server = try LocalServer { connection in
        _ = connection.readHead()
        connection.write("HTTP/1.0 200 OK\r\nContent-Type: multipart/x-mixed-replace; boundary=b\r\n\r\n")
        connection.write(body)
      }
      let error = #expect(throws: VidiconError.self) {
        let connection = try Self.open(server)
        #expect(isOpened)
        while true { _ = try connection.read() }
      }
      // libavformat calls it lost where the response has neither a length nor "Connection: close".
      let description = error?.description ?? ""
      #expect(description.contains("has ended") || description.contains("was lost"), "\(description)")
    }
  }

  @Test func `a camera that sends an image each 16 s is waited for, over one connection`() async throws {
    let image = try Self.image()
    let (pauses, count) = (SharedCount(), SharedCount())
    let server = try LocalServer { connection in
      count.increase()
      _ = connection.readHead()
      connection.write("HTTP/1.0 200 OK\r\nContent-Type: multipart/x-mixed-replace; boundary=b\r\n\r\n")
      let part = "--b\r\nContent-Type: image/jpeg\r\nContent-Length: \(image.count)\r\n\r\n"
      connection.write(part.utf8 + image + "\r\n".utf8)
      // The client would end it after 15 s.
      guard !connection.waitForEnd(within: 16) else { return }
      pauses.increase()
      connection.write(part.utf8 + image + "\r\n".utf8)
      connection.waitForEnd()
    }
    let read = try await onThread {
      let connection = try Self.open(server)
      var read = 0
      while read < 2 {
        if case .packet? = try connection.read() { read += 1 }
      }
      return read
    }
    #expect(read == 2 && pauses.value == 1 && count.value == 1)
  }

  private final class SharedCount: Sendable {
    private let count = Mutex(0)
    func increase() { self.count.withLock { $0 += 1 } }
    var value: Int { self.count.withLock { $0 } }
  }
}
