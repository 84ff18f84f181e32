import ArgumentParser

/// A row of a table of settings: one setting of the server or of a stream, which the command line and the configuration file share.
///
/// Each side only delivers the setting's text. Its raw value is the key of the file, ``optionName`` the option, and `set(_:to:)` of the
/// table's owner parses and checks the text of either side. An option with that name in a group of a command is found by
/// `ParsableArguments.settings(of:)`; `SettingTableTests` fails where one of the sides, or the documentation, lacks a setting.
protocol SettingKey: RawRepresentable<String>, CaseIterable, Hashable, Sendable {
  /// Name of the option, without the hyphens before it; one that begins with `no-` is a flag that sets `false`.
  var optionName: String { get }
}

extension SettingKey {
  var optionName: String { self.rawValue.hyphenated }

  /// The key that was probably meant by a text, which may be the name of an option too; nil where none is near.
  static func nearest(to text: String) -> String? {
    text.nearest(among: Self.allCases.map { ($0.rawValue, [$0.optionName]) })
  }
}

extension String {
  /// Name of the option of a property, as ArgumentParser makes it: `rtsp-udp` for `rtspUDP`.
  var hyphenated: String {
    var name = ""
    for character in self {
      if character.isUppercase, name.last?.isUppercase == false { name.append("-") }
      name.append(character)
    }
    return name.lowercased()
  }
}

extension ParsableArguments {
  /// The settings of a table that were given on the command line, in the order in which their options are declared, with one text, or
  /// several of an option that can be repeated.
  ///
  /// Finds the options of all groups by reflection, as ArgumentParser does, and their keys by their names.
  func settings<Key: SettingKey>(of table: Key.Type) -> [(key: Key, texts: [String])] {
    let keys = Dictionary(uniqueKeysWithValues: table.allCases.map { ($0.optionName, $0) })
    return Mirror(reflecting: self).children.flatMap { child -> [(key: Key, texts: [String])] in
      if let group = child.value as? any NestedArguments { return group.arguments.settings(of: table) }
      // The storage of a property with a wrapper has an underscore before its name.
      guard let name = child.label?.dropFirst().description.hyphenated, let key = keys[name] else { return [] }
      let texts =
        switch child.value {
        case let option as Option<String?>: option.wrappedValue.map { [$0] } ?? []
        case let option as Option<[String]>: option.wrappedValue
        case let flag as Flag<Bool>: flag.wrappedValue ? [name.hasPrefix("no-") ? "false" : "true"] : []
        // None of the groups has another one, which would be lost without a word.
        default: preconditionFailure("the option --\(name) has a type that is not read")
        }
      return texts.isEmpty ? [] : [(key, texts)]
    }
  }
}

/// A group of options within others, of any type.
private protocol NestedArguments {
  var arguments: any ParsableArguments { get }
}

extension OptionGroup: NestedArguments {
  fileprivate var arguments: any ParsableArguments { self.wrappedValue }
}
