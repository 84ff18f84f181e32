import Media
import NIOCore
import Testing

@testable import RTMP

@Suite("AMF 0")
struct AMF0Tests {
  /// Encodings written by hand from "Action Message Format -- AMF 0" §2.
  static let goldens: [(value: AMFValue, bytes: String)] = [
    (.number(1), "00 3FF0000000000000"),
    (.boolean(true), "01 01"),
    (.string("foo"), "02 0003 666F6F"),
    (.object(["a": 1, "b": "c"]), "03 0001 61 00 3FF0000000000000 0001 62 02 0001 63 0000 09"),
    (.null, "05"),
    (.undefined, "06"),
    (.ecmaArray(["w": 2]), "08 00000001 0001 77 00 4000000000000000 0000 09"),
    (.array([true, .null]), "0A 00000002 01 01 05"),
    (.date(0), "0B 0000000000000000 0000"),
    (.object([:]), "03 0000 09"),
  ]

  @Test(arguments: Self.goldens.indices)
  func `each type is written and read as the specification has it`(index: Int) throws {
    let (value, text) = Self.goldens[index]
    #expect(serialized(value) == bytes(text))
    #expect(try AMF0Reader.values(parsing: bytes(text)) == [value])
  }

  @Test func `types that are only read become the nearest one`() throws {
    #expect(try AMF0Reader.values(parsing: bytes("0C 00000003 666F6F")) == ["foo"])
    #expect(try AMF0Reader.values(parsing: bytes("0F 00000003 3C612F")) == ["<a/"])
    #expect(try AMF0Reader.values(parsing: bytes("10 0003 666F6F 0001 61 05 0000 09")) == [.object(["a": .null])])
    // The count of an ECMA array is often wrong.
    #expect(try AMF0Reader.values(parsing: bytes("08 FFFFFFFF 0001 61 05 0000 09")) == [.ecmaArray(["a": .null])])
    #expect(try AMF0Reader.values(parsing: bytes("11 06 07 666F6F 05")) == ["foo", .null])
  }

  @Test func `a string of 65,535 bytes is short, a longer one long`() throws {
    for (count, marker) in [(65_535, UInt8(2)), (65_536, 12)] {
      let value = AMFValue.string(String(repeating: "x", count: count))
      let buffer = serialized(value)
      #expect(buffer.readableBytesView.first == marker)
      #expect(try AMF0Reader.values(parsing: buffer) == [value])
    }
  }

  @Test func `every prefix of a value is truncated`() {
    for (value, text) in Self.goldens {
      let whole = bytes(text)
      for length in 1..<max(1, whole.readableBytes) {
        let prefix = ByteBuffer(bytes: whole.readableBytesView.prefix(length))
        let found = error { () throws(ParsingError) in _ = try AMF0Reader.values(parsing: prefix) }
        #expect(found?.code == .truncated, "\(value) \(length)")
      }
    }
  }

  @Test(
    arguments: [
      ("07 0000 05", [.undefined, .null]), ("0D 05", [.undefined, .null]),
      ("03 0001 61 07 0001 0001 62 05 0000 09 05", [.object(["a": .undefined, "b": .null]), .null]),
      // A movie clip, a record set, an end without an object, unknown ones: their length is not known.
      ("05 04 05", [.null]), ("05 0E 05", [.null]), ("05 09 05", [.null]), ("05 12 05", [.null]), ("FF", []),
      ("03 0001 61 05 0001 62 12 0001 63 05 0000 09 05", [.object(["a": .null])]),
      ("0A 00000003 05 0E 05 05", [.array([.null])]),
      ("0A 00000002 03 0001 61 05 0001 62 04 05", [.array([.object(["a": .null])])]),
      // AMF 3: a vector, a dictionary.
      ("08 00000000 0001 61 05 0001 62 11 0D 03 00 00000001 0000 09", [.ecmaArray(["a": .null])]),
      ("05 11 11 03 00 01 01", [.null]),
    ] as [(String, [AMFValue])])
  func `what comes before a value that is not read is read`(text: String, values: [AMFValue]) throws {
    #expect(try AMF0Reader.values(parsing: bytes(text)) == values)
  }

  @Test func `objects nested 10,000 deep are refused at level 17`() {
    var object = ByteBuffer()
    var array = ByteBuffer()
    for _ in 0..<10_000 {
      object.writeImmutableBuffer(bytes("03 0001 61"))
      array.writeImmutableBuffer(bytes("0A 00000001"))
    }
    for input in [object, array] {
      let found = error { () throws(ParsingError) in _ = try AMF0Reader.values(parsing: input) }
      #expect(found?.code == .tooLarge && found?.field == "AMF0 depth")
    }
    var nested = AMFValue.null
    for _ in 0..<16 { nested = .array([nested]) }
    #expect(throws: Never.self) { try AMF0Reader.values(parsing: serialized(nested)) }
  }

  @Test func `more than 4096 values are refused, whatever an array announces`() throws {
    let most = AMFValue.array(Array(repeating: .null, count: 4095))
    #expect(try AMF0Reader.values(parsing: serialized(most)) == [most])
    let more = error { () throws(ParsingError) in
      _ = try AMF0Reader.values(parsing: serialized(.array(Array(repeating: .null, count: 4096))))
    }
    #expect(more?.field == "AMF0 value count")
    let announced = error { () throws(ParsingError) in
      _ = try AMF0Reader.values(parsing: bytes("0A FFFFFFFF 05"))
    }
    #expect(announced == ParsingError(.truncated, field: "array-count", offset: 1))
  }

  @Test func `a property with an empty name is not written, since it would end the object`() throws {
    let object = AMFObject([.init(name: "", value: 1), .init(name: "a", value: 2)])
    #expect(try AMF0Reader.values(parsing: serialized(.object(object))) == [.object(["a": 2])])
    #expect(serialized(.ecmaArray(object)) == serialized(.ecmaArray(["a": 2])), "nor counted")
  }
}
