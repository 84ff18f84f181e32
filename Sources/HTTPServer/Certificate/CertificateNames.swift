internal import Libc
internal import NIOCore

/// The names and addresses under which browsers reach this machine, for the certificate of HTTP over TLS.
struct CertificateNames: Hashable, Sendable {
  /// Maximum number of addresses: a certificate with those of a host of many containers would make each handshake long.
  static let maximumAddressCount = 100

  /// Host names in lower case, `localhost` first.
  var hosts: [String]
  /// Numeric addresses of 4 or 16 bytes, those of loopback first.
  var addresses: [[UInt8]]

  /// Creates the names of a machine: `localhost`, its multicast DNS name `HOST.local`, and its host name where that has a
  /// domain.
  ///
  /// A host name without a domain is left out: as a name constraint it would permit a top-level domain (`dev`, `app`).
  ///
  /// - Parameters:
  ///   - hostName: The system's host name; ignored where it is no DNS name.
  ///   - addresses: Those of the interfaces. Duplicates and link-local addresses of IPv6, which browsers cannot open, are
  ///     left out.
  init(hostName: String, addresses: [[UInt8]]) {
    self.hosts = ["localhost"]
    let labels = hostName.lowercased().split(separator: ".", omittingEmptySubsequences: false)
    if let first = labels.first, labels.allSatisfy(Self.isLabel), hostName.utf8.count <= 253, first != "localhost" {
      self.hosts.append("\(first).local")
      let name = labels.joined(separator: ".")
      // The last label of a numeric address is a number, and that of a name never is.
      if labels.count > 1, labels.last?.allSatisfy(\.isNumber) == false, !self.hosts.contains(name) {
        self.hosts.append(name)
      }
    }
    self.addresses = [[127, 0, 0, 1], [UInt8](repeating: 0, count: 15) + [1]]
    for address in addresses where self.addresses.count < Self.maximumAddressCount {
      let isLinkLocal = address.count == 16 && address[0] == 0xfe && address[1] & 0xc0 == 0x80
      if !isLinkLocal, !self.addresses.contains(address) { self.addresses.append(address) }
    }
  }

  /// The names and addresses that this machine has now. Takes some microseconds, at most a millisecond.
  static func ofMachine() -> CertificateNames {
    var buffer = [CChar](repeating: 0, count: 256)
    let hostName =
      gethostname(&buffer, buffer.count - 1) == 0
      ? String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(truncatingIfNeeded: $0) }, as: UTF8.self) : ""
    let addresses = ((try? System.enumerateDevices()) ?? []).compactMap { device -> [UInt8]? in
      guard let address = device.address, let text = address.ipAddress else { return nil }
      var bytes = [UInt8](repeating: 0, count: address.protocol == .inet6 ? 16 : 4)
      // Without the scope of a link-local address ("%eth0").
      let number = String(text.prefix { $0 != "%" })
      return inet_pton(address.protocol == .inet6 ? AF_INET6 : AF_INET, number, &bytes) == 1 ? bytes : nil
    }
    return CertificateNames(hostName: hostName, addresses: addresses)
  }

  /// Whether a part of a name has only the characters of host names, RFC 1123 §2.1.
  private static func isLabel(_ label: some StringProtocol) -> Bool {
    (1...63).contains(label.utf8.count) && label.first != "-" && label.last != "-"
      && label.utf8.allSatisfy { byte in
        byte == UInt8(ascii: "-") || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
          || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
      }
  }
}
