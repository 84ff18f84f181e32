internal import Libc
package import Media
internal import NIOCore

extension VidiconError {
  /// Creates the error of a server that failed to bind or listen to a port.
  ///
  /// - Parameters:
  ///   - address: The numeric address of the user; nil for all addresses.
  ///   - options: The options that choose the port, such as `--http-port or --https-port`.
  ///   - unprivilegedPort: A usual port of the server, from 1024 on.
  package init(binding error: any Error, address: String?, port: Int, options: String, unprivilegedPort: Int) {
    let number = (error as? IOError)?.errnoCode
    let subject = address.map { "port \(port) of \($0)" } ?? "port \(port)"
    switch number {
    case EADDRINUSE:
      self.init(
        .portInUse, subject: subject, cause: "in use by another program",
        nextStep: "choose another port with \(options); 0 selects any free one")
    case EACCES:
      self.init(
        .notPermitted, subject: subject, cause: "not open to this user",
        nextStep: "choose a port from 1024 on, such as \(unprivilegedPort)")
    case EADDRNOTAVAIL:
      self.init(
        .notFound, subject: address ?? "the address", cause: "not an address of this machine",
        nextStep: "omit --bind to listen on all addresses")
    default:
      let reason = number.map { String(cString: strerror($0)) } ?? "\(error)"
      self.init(
        .failed, subject: subject, cause: "cannot be opened (\(reason))", nextStep: "check the address and the port")
    }
  }
}
