/// Attributes of a tag of another server, RFC 8216 §4.2: `NAME=value,NAME="text"`. Any text is a list.
struct HLSAttributeList {
  private var values: [Substring: String] = [:]

  /// Attributes of the value behind a tag's colon; of a repeated name the first one counts.
  init(_ text: Substring) {
    var rest = text
    while let equals = rest.firstIndex(of: "=") {
      let name = rest[..<equals].drop { $0 == "," || $0 == " " }
      rest = rest[equals...].dropFirst()
      let isQuoted = rest.first == "\""
      if isQuoted { rest = rest.dropFirst() }
      let end = rest.firstIndex(of: isQuoted ? "\"" : ",") ?? rest.endIndex
      if self.values[name] == nil { self.values[name] = String(rest[..<end]) }
      rest = rest[end...].drop { $0 == "\"" }
    }
  }

  /// The value of an attribute without quotation marks; nil without it.
  subscript(_ name: Substring) -> String? { self.values[name] }
}
