/// Removes what browsers do not need from the sources of the page: comments on lines of their own, indentation and empty lines.
///
/// Works on lines, so it needs no parser: what shares a line with code stays. A script with a template literal of several lines
/// stays as it is, since its lines may be text.
enum PageSource {
  /// The bytes to send for a file; those of HTML and SVG are unchanged.
  static func compact(_ source: some Collection<UInt8>, name: String) -> [UInt8] {
    let source = Array(source)
    let isScript = name.hasSuffix(".mjs")
    guard isScript || name.hasSuffix(".css") else { return source }
    let lines = source.split(separator: UInt8(ascii: "\n"))
    let backtick = UInt8(ascii: "`")
    if isScript, lines.contains(where: { !$0.count(where: { $0 == backtick }).isMultiple(of: 2) }) { return source }
    var output: [UInt8] = []
    output.reserveCapacity(source.count)
    var isComment = false
    for line in lines {
      let space = UInt8(ascii: " ")
      var rest = line.drop { $0 == space }
      if !isComment, isScript, rest.starts(with: "//".utf8) { continue }
      if !isComment, rest.starts(with: "/*".utf8) {
        isComment = true
        rest = rest.dropFirst(2)
      }
      if isComment {
        guard let end = Self.commentEnd(in: rest) else { continue }
        isComment = false
        rest = rest[end...].drop { $0 == space }
      }
      if rest.isEmpty { continue }
      output += rest
      output.append(UInt8(ascii: "\n"))
    }
    return output
  }

  /// The name under which a file is served: a module has the ending `.js`, by which crawlers, caches and mirrors know scripts.
  static func servedName(_ name: String) -> String {
    name.hasSuffix(".mjs") ? "\(name.dropLast(3))js" : name
  }

  /// Returns the source with the served names of modules, in HTML and in imports.
  static func namingModules(_ source: [UInt8]) -> [UInt8] {
    var output: [UInt8] = []
    output.reserveCapacity(source.count)
    for byte in source {
      if byte == UInt8(ascii: "\""), output.suffix(4).elementsEqual(".mjs".utf8) {
        output.removeLast(3)
        output += "js".utf8
      }
      output.append(byte)
    }
    return output
  }

  /// Index after the first `*/`; nil without one.
  private static func commentEnd(in line: ArraySlice<UInt8>) -> Int? {
    zip(line.indices, line.indices.dropFirst()).first { index, next in
      line[index] == UInt8(ascii: "*") && line[next] == UInt8(ascii: "/")
    }.map { $0.1 + 1 }
  }
}
