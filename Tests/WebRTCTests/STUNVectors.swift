import NIOCore
import TestSupport
import WebRTC

/// Messages of RFC 5769 §2 and of RFC 8489 appendix B.1 (with the code of erratum 6268).
enum STUNVectors {
  static let password = "VOkJxbRl1RmTxUk/WvJxBt"

  /// RFC 5769 §2.1.
  static let request = bytes(
    """
    00010058 2112a442 b7e7a701bc34d686fa87dfae
    80220010 5354554e207465737420636c69656e74
    00240004 6e0001ff
    80290008 932ff9b151263b36
    00060009 6576746a3a68367659202020
    00080014 9aeaa70cbfd8cb56781ef2b5b2d3f249c1b571a2
    80280004 e57a3bcf
    """)

  /// RFC 5769 §2.2.
  static let ipv4Response = bytes(
    """
    0101003c 2112a442 b7e7a701bc34d686fa87dfae
    8022000b 7465737420766563746f7220
    00200008 0001a147e112a643
    00080014 2b91f599fd9e90c38c7489f92af9ba53f06be7d7
    80280004 c07d4c96
    """)

  /// RFC 5769 §2.3.
  static let ipv6Response = bytes(
    """
    01010048 2112a442 b7e7a701bc34d686fa87dfae
    8022000b 7465737420766563746f7220
    00200014 0002a1470113a9faa5d3f179bc25f4b5bed2b9d9
    00080014 a382954e4be67bf11784c97c8292c275bfe3ed41
    80280004 c8fb0b4c
    """)

  /// RFC 5769 §2.4; its padding is of zeros, and it has no FINGERPRINT.
  static let longTermRequest = bytes(
    """
    00010060 2112a442 78ad3433c6ad72c029da412e
    00060012 e3839ee38388e383aae38383e382afe382b90000
    0015001c 662f2f3439396b39353464364f4c33346f4c39465354767936347341
    0014000b 6578616d706c652e6f726700
    00080014 f67024656dd64a3e02b8e0712e85c9a28ca89666
    """)

  /// RFC 8489 appendix B.1.
  static let sha256Request = bytes(
    """
    00010088 2112a442 78ad3433c6ad72c029da412e
    001e0020 4a3cf38fef6992bda952c6780417da0f24819415569e60b205c46e41407f1704
    00150029 6f624d61744a6f733241414143662f2f3439396b39353464364f4c33346f4c39465354767936347341000000
    0014000b 6578616d706c652e6f726700
    001c0020 fd8c273860d2e18ebca4c89b6973befa7ee8ecc69e9642db326fab65a0b955ba
    """)

  /// The user of both long-term requests: "マトリックス", whose password is "TheMatrIX" after OpaqueString.
  static let username = "\u{30DE}\u{30C8}\u{30EA}\u{30C3}\u{30AF}\u{30B9}"
  static let longTermKey = STUNKey(username: username, realm: "example.org", password: "TheMatrIX")
}
