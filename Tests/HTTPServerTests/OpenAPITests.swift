import Authentication
import Effects
import Foundation
import NIOCore
import Testing

@testable import ControlAPI

@Suite("OpenAPI document")
struct OpenAPITests {
  private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  private static func document() throws -> [String: Any] {
    let data = Data(OpenAPIDocument.bytes.readableBytesView)
    return try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
  }

  @Test func `the file in the tree is embedded, byte by byte`() throws {
    let file = try Data(contentsOf: Self.folder.appending(path: "Sources/ControlAPI/Documents/openapi.json"))
    #expect(Data(OpenAPIDocument.bytes.readableBytesView) == file)
    #expect(OpenAPIDocument.etag.wholeMatch(of: /"[0-9a-f]{24}"/) != nil)
  }

  @Test func `the document is OpenAPI 3.1 and names the API version`() throws {
    let document = try Self.document()
    #expect(document["openapi"] as? String == "3.1.0")
    let info = try #require(document["info"] as? [String: Any])
    #expect(info["version"] as? String == "2.8.0")
    // A relative URL is resolved against that of the document, §4.8.5: the server may be below a path.
    let servers = try #require(document["servers"] as? [[String: String]])
    #expect(servers.map { $0["url"] } == [".."])
    let location = try #require(URL(string: "https://host/cam/api/openapi.json"))
    #expect(URL(string: "..", relativeTo: location)?.absoluteString == "https://host/cam/")
  }

  @Test func `the document lists exactly the implemented routes with their methods`() throws {
    let paths = try #require(try Self.document()["paths"] as? [String: [String: Any]])
    #expect(Set(paths.keys) == Set(Self.routes.compactMap(Self.template)))
    let values = ["name": "cam", "file": "index.m3u8", "recording": "r.mp4", "rendition": "low", "session": "0"]
    for (path, operations) in paths {
      let components = path.split(separator: "/").map { part in
        part.hasPrefix("{") ? values[String(part.dropFirst().dropLast())] ?? "" : String(part)
      }
      let route = HTTPRoute(components, names: ["cam"])
      #expect(Self.template(of: route) == path)
      var methods: Set<String> = route.isReadable ? ["get"] : []
      methods.formUnion(route.changingMethods.map { $0.lowercased() })
      #expect(Set(operations.keys) == methods, "\(path)")
    }
  }

  @Test func `the log has the path of each change as the document has it, without the texts of a client`() throws {
    let paths = try #require(try Self.document()["paths"] as? [String: [String: Any]])
    var changes: [String] = []
    for path in paths.keys {
      let components = path.split(separator: "/").map { $0.hasPrefix("{") ? "secret" : String($0) }
      let route = HTTPRoute(components, names: ["secret"])
      guard !route.changingMethods.isEmpty, route.permission(changing: true) == .control else {
        #expect(route.controlPath.isEmpty, "\(path)")
        continue
      }
      changes.append(path)
      #expect(route.controlPath == path)
      #expect(route.controlledStream == (path.contains("{name}") ? "secret" : nil), "\(path)")
    }
    #expect(changes.count >= 9)
  }

  @Test func `every reference resolves within the document`() throws {
    let document = try Self.document()
    var count = 0
    func visit(_ value: Any) throws {
      if let array = value as? [Any] {
        for element in array { try visit(element) }
      } else if let object = value as? [String: Any] {
        for element in object.values { try visit(element) }
        guard let reference = object["$ref"] as? String else { return }
        var target: Any? = document
        for key in reference.dropFirst(2).split(separator: "/") {
          target = (target as? [String: Any])?[String(key)]
        }
        #expect(reference.hasPrefix("#/") && target != nil, "\(reference)")
        count += 1
      }
    }
    try visit(document)
    #expect(count > 100)
  }

  @Test func `the documented limits are those of the code`() throws {
    let text = String(buffer: OpenAPIDocument.bytes)
    #expect(HTTPBodyLimits.imageBytes == 8 << 20)
    #expect(text.contains("at most 8 MiB, \(OverlayImage.maximumSide) pixels"))
    #expect(HTTPBodyLimits.configurationBytes == 1 << 20 && text.contains("in UTF-8, at most 1 MiB"))
  }

  /// One route of each kind.
  private static let routes: [HTTPRoute] = [
    .list, .health, .metrics, .authority, .streams, .stream("cam"), .recording(stream: "cam"), .source(stream: "cam"),
    .level(stream: "cam"), .effects(stream: "cam"), .effectImage(.mask, stream: "cam"),
    .effectImage(.overlay, stream: "cam"), .rendition("low", stream: "cam"), .events(stream: "cam"),
    .pushes(stream: "cam"), .publisher(stream: "cam"), .devices, .reload, .configuration, .check, .session,
    .recordingList, .recordings, .recordedFile(["cam", "r.mp4"]), .openAPI, .qrCode, .pageFile("/_page/a.css"),
    .page("cam"), .snapshot("cam"),
    .motionJPEG("cam"), .whep("cam"), .whepSession("0", stream: "cam"), .whip("cam"),
    .whipSession("0", stream: "cam"), .publish("cam"), .file("index.m3u8", stream: "cam"), .notFound,
  ]

  /// The path of a route in the document; nil for files of the web page, which are not part of the API, and for
  /// `notFound`. Exhaustive, so that a new route needs a decision here.
  private static func template(of route: HTTPRoute) -> String? {
    switch route {
    case .list: "/"
    case .health: "/health"
    case .metrics: "/metrics"
    case .authority: "/ca"
    case .streams: "/api/streams"
    case .stream: "/api/streams/{name}"
    case .recording: "/api/streams/{name}/recording"
    case .source: "/api/streams/{name}/source"
    case .level: "/api/streams/{name}/level"
    case .effects: "/api/streams/{name}/effects"
    case .effectImage(let use, _): "/api/streams/{name}/effects/\(use.rawValue)"
    case .rendition: "/api/streams/{name}/renditions/{rendition}"
    case .events: "/api/streams/{name}/events"
    case .devices: "/api/devices"
    case .reload: "/api/reload"
    case .configuration: "/api/configuration"
    case .check: "/api/check"
    case .session: "/api/session"
    case .recordingList: "/api/recordings"
    case .recordings: "/recordings/"
    case .recordedFile: "/recordings/{name}/{recording}"
    case .pushes: "/api/streams/{name}/pushes"
    case .publisher: "/api/streams/{name}/publisher"
    case .openAPI: "/api/openapi.json"
    case .qrCode: "/api/qr.svg"
    case .page: "/{name}"
    case .snapshot: "/{name}/snapshot.jpg"
    case .motionJPEG: "/{name}/mjpeg"
    case .whep: "/{name}/whep"
    case .whepSession: "/{name}/whep/{session}"
    case .publish: "/{name}/publish"
    case .whip: "/{name}/whip"
    case .whipSession: "/{name}/whip/{session}"
    case .file: "/{name}/{file}"
    case .pageFile, .notFound: nil
    }
  }
}
