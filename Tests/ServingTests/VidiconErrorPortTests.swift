import Libc
import Media
import NIOCore
import Serving
import Testing

@Suite("Errors of ports, for users")
struct VidiconErrorPortTests {
  private static func error(_ error: any Error, address: String? = nil) -> VidiconError {
    VidiconError(
      binding: error, address: address, port: 80, options: "--http-port or --https-port", unprivilegedPort: 8080)
  }

  @Test(
    arguments: [
      (
        EADDRINUSE, nil, .portInUse,
        "port 80: in use by another program; choose another port with --http-port or --https-port; 0 selects any free one"
      ),
      (
        EADDRINUSE, "::1", .portInUse,
        "port 80 of ::1: in use by another program; choose another port with --http-port or --https-port; 0 selects any free one"
      ),
      (EACCES, nil, .notPermitted, "port 80: not open to this user; choose a port from 1024 on, such as 8080"),
      (
        EADDRNOTAVAIL, "192.0.2.1", .notFound,
        "192.0.2.1: not an address of this machine; omit --bind to listen on all addresses"
      ),
      (
        EADDRNOTAVAIL, nil, .notFound,
        "the address: not an address of this machine; omit --bind to listen on all addresses"
      ),
      (
        EMFILE, nil, .failed,
        "port 80: cannot be opened (Too many open files); check the address and the port"
      ),
    ] as [(CInt, String?, VidiconError.Code, String)])
  func `an errno of bind becomes a code and a line for users`(
    number: CInt, address: String?, code: VidiconError.Code, line: String
  ) {
    let error = Self.error(IOError(errnoCode: number, reason: "bind"), address: address)
    #expect(error.code == code)
    #expect(error.description == line)
  }

  @Test func `an unknown failure of bind is part of the cause`() {
    struct Odd: Error, CustomStringConvertible { let description = "odd" }
    #expect(Self.error(Odd()).description == "port 80: cannot be opened (odd); check the address and the port")
  }
}
