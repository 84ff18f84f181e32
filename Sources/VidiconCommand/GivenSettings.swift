import Authentication

/// Origin of a setting.
enum SettingOrigin: String, Sendable {
  case file
  case option
  /// A variable of the environment, which each run reads.
  case environment
  /// The option or key `preset`.
  case preset
  /// None: the setting has its default.
  case `default`
}

/// The settings of a table that were given, in their own words and with their origins, for `vidicon config`.
///
/// Two of them are always equal: they say how a configuration came about, and not what it is.
struct GivenSettings<Key: SettingKey>: Equatable, Sendable {
  /// A text as it was given, which may have a password, or keys and values.
  enum Form: Sendable {
    case text(Secret)
    case mapping([(key: String, value: Secret)])
  }

  /// One value, or a member of a list.
  struct Value: Sendable {
    var form: Form
    var origin: SettingOrigin
  }

  private var values: [Key: [Value]] = [:]

  static func == (_: Self, _: Self) -> Bool { true }

  /// The values of a setting; empty where it has its default.
  subscript(_ key: Key) -> [Value] { self.values[key] ?? [] }

  /// Replaces the values of a setting by those of one origin.
  mutating func set(_ key: Key, to texts: [String], from origin: SettingOrigin) {
    self.values[key] = texts.map { Value(form: .text(Secret($0)), origin: origin) }
  }

  /// Adds a member to a list.
  mutating func append(_ key: Key, _ form: Form, from origin: SettingOrigin) {
    self.values[key, default: []].append(Value(form: form, origin: origin))
  }
}
