import Effects
import Foundation
import Media
import NIOCore
import Recording
import Serving
import Streaming
import Testing

@testable import ControlAPI
@testable import HLSServer
@testable import HTTPServer

@Suite("Entries of the HTTP API")
struct EntriesTests {
  /// A response in which every member is present, the type of which it is the JSON, and its schema in the OpenAPI document.
  struct Response: Sendable, CustomTestStringConvertible {
    var type: any (Codable & Hashable & Sendable).Type
    var schema: String
    var json: String

    var testDescription: String { self.schema }
  }

  static let responses: [Response] = [
    .init(type: StreamList.self, schema: "StreamList", json: EntryFixtures.streams),
    .init(type: PublisherState.self, schema: "PublisherState", json: EntryFixtures.publisherState),
    .init(type: PushList.self, schema: "PushList", json: EntryFixtures.pushes),
    .init(type: RecordingEntry.self, schema: "Recording", json: EntryFixtures.recording),
    .init(type: RecordingList.self, schema: "RecordingList", json: EntryFixtures.recordings),
    .init(type: DeviceList.self, schema: "DeviceList", json: EntryFixtures.devices),
    .init(type: SessionEntry.self, schema: "Session", json: EntryFixtures.session),
    .init(type: ReloadEntry.self, schema: "Reload", json: EntryFixtures.reload),
    .init(type: CheckEntry.self, schema: "Check", json: EntryFixtures.check),
  ]

  /// Decodes a response as the command does.
  private static func decode<Entry: Decodable>(_ type: Entry.Type, _ json: String) throws -> Entry {
    try JSONDecoder().decode(type, from: Data(json.utf8))
  }

  /// The body of a response, as the server encodes it.
  private static func body(_ entry: some Encodable) throws -> ByteBuffer {
    guard case .bytes(let bytes) = HTTPResponder.json(entry).body else { throw CancellationError() }
    return bytes
  }

  @Test(arguments: Self.responses)
  func `what the server encodes, the command decodes to an equal value`(response: Response) throws {
    func check<Entry: Codable & Hashable>(_ type: Entry.Type) throws {
      let entry = try Self.decode(type, response.json)
      let body = try Self.body(entry)
      #expect(try Self.decode(type, String(buffer: body)) == entry)
      #expect(JSONValue(parsing: body) == JSONValue(parsing: ByteBuffer(string: response.json)))
    }
    try check(response.type)
  }

  @Test func `entries of models decode to equal values`() throws {
    var viewer = WebRTCViewerStatistics(number: 3, rendition: "low")
    (viewer.roundTrip, viewer.fractionLost) = (.microseconds(12_345), 0.123456)
    viewer.queueingDelay = .microseconds(8_765)
    #expect(try Self.decode(ViewerEntry.self, String(buffer: Self.body(ViewerEntry(viewer)))) == ViewerEntry(viewer))
    #expect(ViewerEntry(viewer).roundTrip == 12.3 && ViewerEntry(viewer).fractionLost == 0.123)
    #expect(ViewerEntry(viewer).queueingDelay == 8.8)
    let publisher = PublisherEntry(WebRTCPublisherStatistics())
    #expect(try Self.decode(PublisherEntry.self, String(buffer: Self.body(publisher))) == publisher)
    let stream = StreamEntry(LiveStream("a b"), servedSince: .zero)
    #expect(try Self.decode(StreamEntry.self, String(buffer: Self.body(stream))) == stream)
    #expect(stream.page == "/a%20b" && stream.startedAt.hasPrefix("1970-01-01T00:00:00"))
  }

  @Test(arguments: Self.responses)
  func `every member of an entry is in its response here`(response: Response) throws {
    var (labels, keys): ([String: Set<String>], [String: Set<String>]) = ([:], [:])
    /// Collects the members of a value and the keys of its JSON by their place, and so on inside.
    func collect(_ value: Any, _ json: Any, at place: String) {
      let mirror = Swift.Mirror(reflecting: value)
      switch (mirror.displayStyle, json) {
      case (.optional, _):
        if let wrapped = mirror.children.first { collect(wrapped.value, json, at: place) }
      case (.collection, let array as [Any]):
        for (member, json) in zip(mirror.children, array) { collect(member.value, json, at: place) }
      case (.struct, let object as [String: Any]) where !(value is StreamEntry.Effects):
        // Folders are for the user of the program.
        let members = mirror.children.compactMap(\.label).filter {
          !(value is RecordingEntry && ["path", "parts"].contains($0))
        }
        labels[place, default: []].formUnion(members)
        keys[place, default: []].formUnion(object.keys)
        for member in mirror.children {
          guard let label = member.label, let json = object[label] else { continue }
          collect(member.value, json, at: "\(place).\(label)")
        }
      default: break
      }
    }
    func check<Entry: Codable>(_ type: Entry.Type) throws {
      let json = try JSONSerialization.jsonObject(with: Data(response.json.utf8))
      collect(try Self.decode(type, response.json), json, at: response.schema)
    }
    try check(response.type)
    #expect(labels == keys && !labels.isEmpty)
  }

  @Test(arguments: Self.responses)
  func `each key of an entry is one of the OpenAPI document, and each of the document one of an entry`(
    response: Response
  ) throws {
    let document = try #require(
      try JSONSerialization.jsonObject(with: Data(OpenAPIDocument.bytes.readableBytesView)) as? [String: Any])
    let schemas = try #require((document["components"] as? [String: Any])?["schemas"] as? [String: [String: Any]])
    var count = 0
    /// Compares the keys that values have together with those of their schema, and so on inside.
    func compare(_ values: [Any], _ schema: [String: Any], at place: String) throws {
      if let reference = schema["$ref"] as? String {
        let name = try #require(reference.split(separator: "/").last.map(String.init))
        try compare(values, try #require(schemas[name]), at: place)
      } else if let properties = schema["properties"] as? [String: [String: Any]] {
        let objects = values.compactMap { $0 as? [String: Any] }
        #expect(Set(objects.flatMap(\.keys)) == Set(properties.keys), "\(place)")
        count += properties.count
        for (key, property) in properties {
          try compare(objects.compactMap { $0[key] }, property, at: "\(place).\(key)")
        }
      } else if let items = schema["items"] as? [String: Any] {
        try compare(values.flatMap { $0 as? [Any] ?? [] }, items, at: place)
      }
    }
    let value = try JSONSerialization.jsonObject(with: Data(response.json.utf8))
    try compare([value], try #require(schemas[response.schema]), at: response.schema)
    #expect(count >= 2)
  }

  @Test(arguments: Self.responses)
  func `members that a later server adds do not disturb an earlier command`(response: Response) throws {
    /// Adds a member to each object but the maps, whose values are all numbers.
    func extended(_ value: Any) -> Any {
      if let array = value as? [Any] { return array.map(extended) }
      guard let object = value as? [String: Any] else { return value }
      if object.values.allSatisfy({ $0 is NSNumber }) { return object }
      var result = object.mapValues(extended)
      result["later"] = ["added": true]
      return result
    }
    let value = try JSONSerialization.jsonObject(with: Data(response.json.utf8))
    let later = String(decoding: try JSONSerialization.data(withJSONObject: extended(value)), as: UTF8.self)
    #expect(later.contains("later"))
    if response.type == StreamList.self {
      var list = try Self.decode(StreamList.self, response.json)
      // Settings that this version does not know cannot be shown.
      list.streams[0].effects?.settings = nil
      #expect(try Self.decode(StreamList.self, later) == list)
    } else {
      func check<Entry: Codable & Hashable>(_ type: Entry.Type) throws {
        #expect(try Self.decode(type, later) == Self.decode(type, response.json))
      }
      try check(response.type)
    }
  }

  @Test func `the user of the program sees the path of a recording, clients over HTTP its address`() throws {
    var status = RecordingStatus()
    (status.state, status.path, status.file, status.partCount) = (.recording, "/home/me/a.mp4", "a.mp4", 2)
    (status.videoSamplesDropped, status.audioSamplesDropped) = (1, 2)
    let (own, seen) = (RecordingEntry(withPathOf: status), RecordingEntry(status, stream: "cam"))
    #expect((own.path, own.parts, own.file) == ("/home/me/a.mp4", 2, nil))
    #expect((seen.path, seen.parts, seen.file) == (nil, nil, "/recordings/cam/a.mp4"))
    #expect(own.drops == 3 && seen.drops == 3)
    #expect(String(buffer: try Self.body(RecordingEntry(state: .paused))) == #"{"state":"paused"}"#)
  }

  @Test func `effects that this version does not know are no error`() throws {
    let effects = try Self.decode(StreamEntry.Effects.self, #"{"faces": "later"}"#)
    #expect(effects.settings == nil)
    #expect(try Self.decode(StreamEntry.Effects.self, #"{"faces": "boxes"}"#).settings?.faces == .boxes)
  }
}
