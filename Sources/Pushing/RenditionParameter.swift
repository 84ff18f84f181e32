internal import Authentication
internal import Media

/// The parameter `rendition` in the query of a push's URL, which is of this program: no server gets it.
///
/// All other parameters keep their order and their bytes. A server that has such a parameter itself gets it where a letter of the
/// name is percent-encoded, `%72endition=NAME`, which is the same to servers that decode their query, RFC 3986 §6.2.2.2.
struct RenditionParameter {
  private static let name = "rendition"

  /// Values that were removed, decoded; several where the parameter was given more than once.
  private(set) var values: [String] = []

  /// Removes the parameter from a URL, or from a part of one that may have a query, and keeps its value.
  mutating func remove(from text: String) -> String {
    guard let mark = text.utf8.firstIndex(of: UInt8(ascii: "?")) else { return text }
    let start = text.utf8.index(after: mark)
    let parameters = text.utf8[start...].split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false)
    var others: [Substring] = []
    for parameter in parameters {
      let parts = parameter.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      guard parts[0].elementsEqual(Self.name.utf8) else {
        others.append(Substring(parameter))
        continue
      }
      let value = parts.count == 2 ? Substring(parts[1]) : ""
      self.values.append(value.percentDecoded ?? String(value))
    }
    guard others.count < parameters.count else { return text }
    return others.isEmpty ? String(text[..<mark]) : String(text[..<start]) + others.joined(separator: "&")
  }

  /// The name of the rendition to push.
  ///
  /// - Parameter option: The name that was given beside the URL; nil without one.
  /// - Throws: `.invalidSpecification` for different names. No error contains one, since a query may have secrets.
  func rendition(beside option: String?) throws(VidiconError) -> String {
    var names = Set(self.values)
    if let option { names.insert(option) }
    guard names.count <= 1 else {
      throw VidiconError(
        .invalidSpecification, subject: "push", cause: "two different renditions are given",
        nextStep: "give one of them; the server's own parameter of this name is written %72endition=")
    }
    return names.first ?? RenditionName.main
  }
}
