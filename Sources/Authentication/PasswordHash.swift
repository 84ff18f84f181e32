internal import Cryptography
public import Media

/// A scrypt hash of a password, RFC 7914, in the form of the Password Hashing Competition:
/// `$scrypt$ln=14,r=8,p=5$SALT$HASH`, with salt and hash in Base64 without padding.
public struct PasswordHash: Hashable, Sendable {
  /// Cost of computing a hash. Memory is 128 · 2^ln · r bytes: 16 MiB by default.
  struct Cost: Hashable {
    /// Logarithm of the number of rounds, to base 2.
    var logarithm = 14
    var blockSize = 8
    var parallelism = 5

    /// Whether the parameters are within the library's memory limit of 32 MiB and a second's time.
    var isSupported: Bool {
      (1...14).contains(self.logarithm) && (1...8).contains(self.blockSize) && (1...16).contains(self.parallelism)
    }
  }

  let cost: Cost
  let salt: [UInt8]
  let hash: [UInt8]

  private static let hashLength = 32

  /// Hashes a password. Takes about 0.2 s and 16 MiB.
  ///
  /// - Parameter salt: At least 16 random bytes.
  /// - Returns: nil when there is no memory.
  public init?(password: String, salt: [UInt8]) {
    self.init(password: Array(password.utf8), salt: salt, cost: Cost())
  }

  init?(password: [UInt8], salt: [UInt8], cost: Cost) {
    guard let hash = Self.derive(password, salt: salt, cost: cost, count: Self.hashLength) else { return nil }
    self.cost = cost
    self.salt = salt
    self.hash = hash
  }

  /// Parses the text of a hash.
  ///
  /// - Throws: `invalid` for another form, `unsupported` for parameters beyond the limits of memory and time.
  public init(parsing text: String) throws(ParsingError) {
    let parts = text.utf8.split(separator: UInt8(ascii: "$"), omittingEmptySubsequences: false).map { String($0) ?? "" }
    guard parts.count == 5, parts[0].isEmpty, parts[1] == "scrypt" else {
      throw ParsingError(.invalid, field: "scrypt hash")
    }
    var numbers: [Int] = []
    for (parameter, name) in zip(parts[2].split(separator: ",", omittingEmptySubsequences: false), ["ln=", "r=", "p="])
    {
      guard parameter.hasPrefix(name), let number = parameter.dropFirst(name.utf8.count).decimal(as: Int.self) else {
        throw ParsingError(.invalid, field: "parameters of the scrypt hash")
      }
      numbers.append(number)
    }
    guard numbers.count == 3, parts[2].utf8.count(where: { $0 == UInt8(ascii: ",") }) == 2 else {
      throw ParsingError(.invalid, field: "parameters of the scrypt hash")
    }
    let cost = Cost(logarithm: numbers[0], blockSize: numbers[1], parallelism: numbers[2])
    guard cost.isSupported else { throw ParsingError(.unsupported, field: "parameters of the scrypt hash") }
    guard let salt = Base64.decode(parts[3]), let hash = Base64.decode(parts[4]), (8...64).contains(salt.count),
      (16...64).contains(hash.count)
    else { throw ParsingError(.invalid, field: "salt or hash of the scrypt hash") }
    self.cost = cost
    self.salt = salt
    self.hash = hash
  }

  /// The text of the hash, for user files. It verifies guesses of the password; keep it private.
  public var text: String {
    "$scrypt$ln=\(self.cost.logarithm),r=\(self.cost.blockSize),p=\(self.cost.parallelism)"
      + "$\(Base64.encode(self.salt, isPadded: false))$\(Base64.encode(self.hash, isPadded: false))"
  }

  /// Whether the password has this hash. Takes as long as hashing: never call it on an event loop.
  func verifies(_ password: [UInt8]) -> Bool {
    guard let hash = Self.derive(password, salt: self.salt, cost: self.cost, count: self.hash.count) else {
      return false
    }
    return ConstantTime.isEqual(hash, self.hash)
  }

  private static func derive(_ password: [UInt8], salt: [UInt8], cost: Cost, count: Int) -> [UInt8]? {
    // Fails for invalid parameters and without memory.
    Scrypt.derive(
      password, salt: salt, rounds: 1 << cost.logarithm, blockSize: cost.blockSize, parallelism: cost.parallelism,
      count: count)
  }
}

extension PasswordHash: CustomStringConvertible, CustomReflectable {
  /// `<redacted>`: a hash verifies guesses.
  public var description: String { "<redacted>" }
  /// A mirror without children.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
