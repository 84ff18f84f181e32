import Foundation
import Media
import NIOCore
import Synchronization
import TestSupport
import Testing
import Threading

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

  @Test func `parts of PNG are shown, and those of JPEG from the first one on`() throws {
    let path = try TestMedia.path(
      "part.png", ["-f", "lavfi", "-i", "color=white:s=160x96:r=1:d=1", "-frames:v", "1", "-pix_fmt", "rgb24"])
    let png = [UInt8](try Data(contentsOf: URL(filePath: path)))
    let jpeg = try Self.image()
    let server = try LocalServer { connection in
      _ = connection.readHead()
      connection.write("HTTP/1.0 200 OK\r\nContent-Type: multipart/x-mixed-replace; boundary=b\r\n\r\n")
      for (type, image) in [("png", png), ("png", png), ("jpeg", jpeg), ("png", png), ("jpeg", jpeg)] {
        connection.write("--b\r\nContent-Type: image/\(type)\r\n\r\n".utf8 + image + "\r\n".utf8)
      }
      connection.waitForEnd()
    }
    let connection = try Self.open(server)
    #expect(connection.tracks.video?.format.width == 160)
    var images: [[UInt8]] = []
    var changes: [Int] = []
    while images.count < 4 {
      switch try connection.read() {
      case .packet(let packet)?: images.append(Array(packet.bytes.readableBytesView))
      case .changedVideo(let track)?:
        changes.append(images.count)
        #expect(track.format.width == 160 && track.format.height == 96)
      default: continue
      }
    }
    #expect(images == [png, png, jpeg, jpeg] && changes == [2])
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
      // Safe because the client, which would end it after 15 s, waits for this pause.
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

  /// Paths of a snapshot, and its media type; nil for none.
  private static let snapshots: [(path: String, type: String?)] = [
    ("snapshot.jpg", "image/jpeg"), ("snapshot.JPG?channel=1&name=a.b", "Image/JPEG; charset=binary"),
    ("cgi-bin/snapshot.cgi?channel=1", "image/jpeg"), ("camera.jpeg", "application/octet-stream"), ("camera.jpg", nil),
    ("image", nil), ("image?q=1", "application/octet-stream"),
  ]

  /// A server of one response to each connection.
  private static func snapshotServer(
    type: String? = "image/jpeg", _ count: SharedCount,
    statusOf: @escaping @Sendable (_ number: Int) -> Int = { _ in 200 }
  ) throws -> LocalServer {
    let image = try Self.image()
    return try LocalServer { connection in
      let status = statusOf(count.increase())
      _ = connection.readHead()
      let body = status == 200 ? image : []
      var fields = "Content-Length: \(body.count)\r\nConnection: close\r\n"
      if let type { fields += "Content-Type: \(type)\r\n" }
      connection.write("HTTP/1.1 \(status) Status\r\n\(fields)\r\n")
      connection.write(body)
    }
  }

  private static func open(
    _ server: LocalServer, _ path: String = "snapshot.jpg", times: MotionJPEGConnection.Snapshots
  ) throws -> any NetworkConnection {
    try LibavConnection.connect(
      NetworkSpecification(parsing: "http://127.0.0.1:\(server.port)/\(path)"), interrupt: LibavInterrupt(),
      snapshots: times)
  }

  @Test(arguments: Self.snapshots.indices) func `a snapshot is requested again and again`(index: Int) throws {
    let (path, type) = Self.snapshots[index]
    let count = SharedCount()
    let server = try Self.snapshotServer(type: type, count)
    let connection = try Self.open(server, path, times: .init(interval: .milliseconds(20), timeout: .seconds(300)))
    #expect(connection.pace == .unheld && connection.tracks.video?.format.width == 160, "\(path)")
    let image = try Self.image()
    for _ in 0..<4 {
      let packet = try Self.packet(connection)
      #expect(Array(packet.bytes.readableBytesView) == image && packet.isKeyframe && packet.decodeTime == nil)
    }
    #expect(count.value >= 4, "\(path)")
  }

  /// Snapshots of 160 × 96 in other formats: name, media type, and options of the output.
  private static let otherSnapshots: [(name: String, type: String?, options: [String])] = [
    ("snapshot.png", "image/png", ["-pix_fmt", "rgb24"]),
    ("snapshot-alpha.png", "application/octet-stream", ["-pix_fmt", "rgba"]),
    ("snapshot.webp", "image/webp", ["-c:v", "libwebp", "-pix_fmt", "yuv420p"]),
    ("snapshot-lossless.webp", nil, ["-c:v", "libwebp", "-lossless", "1", "-pix_fmt", "bgra"]),
  ]

  @Test(arguments: Self.otherSnapshots.indices, [true, false])
  func `snapshots of PNG and WebP are shown again and again`(index: Int, isNamed: Bool) throws {
    let (name, type, options) = Self.otherSnapshots[index]
    let file = try TestMedia.path(
      name, ["-f", "lavfi", "-i", "color=white:s=160x96:r=1:d=1", "-frames:v", "1"] + options)
    let image = [UInt8](try Data(contentsOf: URL(filePath: file)))
    let count = SharedCount()
    let server = try LocalServer { connection in
      count.increase()
      _ = connection.readHead()
      let field = type.map { "Content-Type: \($0)\r\n" } ?? ""
      connection.write("HTTP/1.1 200 OK\r\n\(field)Content-Length: \(image.count)\r\nConnection: close\r\n\r\n")
      connection.write(image)
    }
    let connection = try Self.open(
      server, isNamed ? name : "image", times: .init(interval: .milliseconds(20), timeout: .seconds(300)))
    let track = try #require(connection.tracks.video)
    #expect(connection.pace == .unheld && track.format.width == 160 && track.format.height == 96)
    let collector = SampleCollector()
    for _ in 0..<3 {
      let packet = try Self.packet(connection)
      #expect(Array(packet.bytes.readableBytesView) == image && packet.decodeTime == nil)
      track.handle(packet, to: collector)
    }
    #expect(count.value >= 3)
    // Frames of the announced format, each with its image, white of BT.601.
    let state = collector.state.withLock { $0 }
    #expect(track.takeHeldFrames().isEmpty && state.shown.count == 3 && track.corruptCount == 0)
    #expect(state.shown.allSatisfy { abs(Int($0.luma) - 235) <= 2 }, "\(state.shown)")
  }

  @Test func `an image without a rotation is upright, also the first one behind one that is turned`() throws {
    let image = try Self.image()
    // Exif 2.32 §4.6.4: orientation 6, a quarter turn clockwise, as the only entry of a big-endian directory.
    let directory: [UInt8] = [0, 42, 0, 0, 0, 8, 0, 1, 0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0]
    var turned = Array(image.prefix(2))
    turned += [0xFF, 0xE1, 0, 34]
    turned += Array("Exif".utf8) + [0, 0]
    turned += Array("MM".utf8) + directory
    turned += image.dropFirst(2)
    let bodies = [image, turned]
    let count = SharedCount()
    let server = try LocalServer { connection in
      let body = bodies[count.increase() % 2]
      _ = connection.readHead()
      connection.write(
        "HTTP/1.1 200 OK\r\nContent-Type: image/jpeg\r\nContent-Length: \(body.count)\r\nConnection: close\r\n\r\n")
      connection.write(body)
    }
    let connection = try Self.open(server, times: .init(interval: .milliseconds(20), timeout: .seconds(300)))
    let track = try #require(connection.tracks.video)
    let collector = SampleCollector()
    for _ in 0..<4 { track.handle(try Self.packet(connection), to: collector) }
    let orientations = collector.state.withLock { $0.frames.map(\.orientation) }
    #expect(orientations == [.right, .up, .right, .up])
  }

  @Test func `a request of a snapshot that fails is repeated`() throws {
    let count = SharedCount()
    let server = try Self.snapshotServer(count) { [200, 503, 500, 404, 200][min($0 - 1, 4)] }
    let connection = try Self.open(server, times: .init(interval: .milliseconds(20), timeout: .seconds(300)))
    for _ in 0..<2 { _ = try Self.packet(connection) }
    #expect(count.value >= 5)
  }

  @Test(arguments: [(503, 200), (401, 300_000)] as [(Int, Int64)])
  func `a snapshot is lost when none has come for long, or access is denied`(status: Int, timeout: Int64) throws {
    let count = SharedCount()
    let server = try Self.snapshotServer(count) { $0 == 1 ? 200 : status }
    let connection = try Self.open(server, times: .init(interval: .milliseconds(20), timeout: .milliseconds(timeout)))
    #expect(try Self.packet(connection).isKeyframe)
    let error = #expect(throws: VidiconError.self) { while true { _ = try connection.read() } }
    #expect(error?.code == (status == 401 ? .notPermitted : .failed), "\(String(describing: error))")
  }

  @Test func `a snapshot is requested again although the camera keeps the connection open`() throws {
    let image = try Self.image()
    let count = SharedCount()
    let server = try LocalServer { connection in
      count.increase()
      _ = connection.readHead()
      connection.write("HTTP/1.1 200 OK\r\nContent-Type: image/jpeg\r\nConnection: close\r\n\r\n")
      connection.write(image)
      connection.waitForEnd()
    }
    let connection = try Self.open(server, times: .init(interval: .milliseconds(20), timeout: .seconds(300)))
    for _ in 0..<3 { #expect(try Array(Self.packet(connection).bytes.readableBytesView) == image) }
    #expect(count.value >= 3)
  }

  @Test func `images that follow one another in a response are read from that`() throws {
    let image = try Self.image()
    let (count, shown) = (SharedCount(), SharedCount())
    let server = try LocalServer { connection in
      count.increase()
      _ = connection.readHead()
      connection.write("HTTP/1.1 200 OK\r\nContent-Type: image/jpeg\r\nConnection: close\r\n\r\n")
      connection.write(image + image)
      // Safe because it is the pause between two looks.
      while shown.value < 2, !connection.waitForEnd(within: 1) {}
      connection.write(image)
      connection.waitForEnd()
    }
    let connection = try Self.open(server, times: .init(interval: .milliseconds(20), timeout: .seconds(300)))
    for _ in 0..<3 {
      #expect(try Array(Self.packet(connection).bytes.readableBytesView) == image)
      shown.increase()
    }
    #expect(count.value == 1)
  }

  /// An image of some hundred bytes.
  private static func smallImage() throws -> [UInt8] {
    let path = try TestMedia.path(
      "small.jpg", ["-f", "lavfi", "-i", "color=red:s=64x64:r=1:d=1", "-frames:v", "1", "-q:v", "31"])
    return [UInt8](try Data(contentsOf: URL(filePath: path)))
  }

  @Test(arguments: ["application/octet-stream", "video/x-motion-jpeg", nil] as [String?])
  func `small images of a stream without a length are shown before more of them have come`(type: String?) throws {
    let image = try Self.smallImage()
    // libavformat collects 2048 bytes before it looks for the format.
    try #require(image.count * 3 < 2048)
    let server = try LocalServer { connection in
      _ = connection.readHead()
      let field = type.map { "Content-Type: \($0)\r\n" } ?? ""
      connection.write("HTTP/1.1 200 OK\r\n\(field)Connection: close\r\n\r\n")
      connection.write(image + image + image)
      connection.waitForEnd()
    }
    let connection = try Self.open(server)
    #expect(connection is LibavConnection && connection.tracks.video?.format.width == 64)
    #expect(try Array(Self.packet(connection).bytes.readableBytesView) == image)
  }

  @Test func `a snapshot without type and length is requested again and again`() throws {
    let image = try Self.smallImage()
    let count = SharedCount()
    let server = try LocalServer { connection in
      count.increase()
      _ = connection.readHead()
      connection.write("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
      connection.write(image)
    }
    let connection = try Self.open(server, "image", times: .init(interval: .milliseconds(20), timeout: .seconds(300)))
    for _ in 0..<3 { #expect(try Array(Self.packet(connection).bytes.readableBytesView) == image) }
    #expect(connection is MotionJPEGConnection && count.value >= 3)
  }

  @Test(arguments: ["image/bmp", "application/octet-stream"], [true, false])
  func `a snapshot in another format is refused by its name, and not shown once`(type: String, hasLength: Bool) throws {
    let path = try TestMedia.path(
      "snapshot.bmp", ["-f", "lavfi", "-i", "color=white:s=160x96:r=1:d=1", "-frames:v", "1"])
    let image = [UInt8](try Data(contentsOf: URL(filePath: path)))
    let server = try LocalServer { connection in
      _ = connection.readHead()
      let length = hasLength ? "Content-Length: \(image.count)\r\n" : ""
      connection.write("HTTP/1.1 200 OK\r\nContent-Type: \(type)\r\n\(length)Connection: close\r\n\r\n")
      connection.write(image)
    }
    let error = #expect(throws: VidiconError.self) { try Self.open(server) }
    #expect(error?.code == .unsupported && error?.cause.contains("BMP") == true, "\(String(describing: error))")
  }

  @Test func `a snapshot is lost when its response goes on without an image`() throws {
    let image = try Self.image()
    let count = SharedCount()
    let server = try LocalServer { connection in
      let isFirst = count.increase() == 1
      _ = connection.readHead()
      connection.write("HTTP/1.1 200 OK\r\nContent-Type: image/jpeg\r\nConnection: close\r\n\r\n")
      connection.write(isFirst ? image : [])
      while !isFirst, !connection.waitForEnd(within: 0) { connection.write("no image") }
    }
    let connection = try Self.open(server, times: .init(interval: .milliseconds(20), timeout: .milliseconds(300)))
    #expect(try Self.packet(connection).isKeyframe)
    #expect(throws: VidiconError.self) { while true { _ = try connection.read() } }
  }

  @Test func `another type than an image's is no snapshot, whatever its name`() throws {
    let stream = try TestMedia.path(
      "named.ts", ["-f", "lavfi", "-i", "testsrc=s=160x96:r=25:d=1", "-c:v", "mpeg2video", "-f", "mpegts"])
    let bytes = [UInt8](try Data(contentsOf: URL(filePath: stream)))
    let server = try LocalServer { connection in
      _ = connection.readHead()
      connection.write("HTTP/1.1 200 OK\r\nContent-Type: video/mp2t\r\nConnection: close\r\n\r\n")
      connection.write(bytes)
    }
    let connection = try NetworkConnections.open(
      NetworkSpecification(parsing: "http://127.0.0.1:\(server.port)/named.jpg"), interrupt: LibavInterrupt())
    #expect(connection is LibavConnection && connection.tracks.video != nil)
  }

  @Test(arguments: ["image/png", "image/webp"])
  func `a stream that is called an image is refused at once`(type: String) throws {
    // A packet of MPEG-TS, ISO/IEC 13818-1 §2.4.3.2.
    var packet: [UInt8] = [0x47, 0x40, 0x00, 0x10]
    packet += Array(repeating: 0xFF, count: 184)
    let bytes = packet
    let server = try LocalServer { connection in
      _ = connection.readHead()
      connection.write("HTTP/1.1 200 OK\r\nContent-Type: \(type)\r\nConnection: close\r\n\r\n")
      connection.write(bytes)
      connection.waitForEnd()
    }
    for name in ["live", "live.png"] {
      let error = #expect(throws: VidiconError.self) { _ = try Self.open(server, name, times: .init()) }
      #expect(error?.code == .invalidData && error?.description.contains("no image begins") ?? false)
    }
  }

  private static func packet(_ connection: any NetworkConnection) throws -> NetworkPacket {
    while true {
      if case .packet(let packet)? = try connection.read() { return packet }
    }
  }

  private final class SharedCount: Sendable {
    private let count = Mutex(0)
    @discardableResult
    func increase() -> Int {
      self.count.withLock { count in
        count += 1
        return count
      }
    }
    var value: Int { self.count.withLock { $0 } }
  }
}
