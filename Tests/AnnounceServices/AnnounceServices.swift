import Discovery

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// Announces a stream for a test, and tells what becomes of it, a line for each event, until its input ends.
///
/// usage: AnnounceServices ADDRESS STREAM HOST HTTP-PORT RTSP-PORT
@main
enum AnnounceServices {
  static func main() async throws {
    let arguments = CommandLine.arguments
    guard arguments.count == 6, let http = UInt16(arguments[4]), let rtsp = UInt16(arguments[5]) else { exit(64) }
    let announcer = ServiceAnnouncer(listeningOn: arguments[1]) { event in
      switch event {
      case .announced(let service, let name): Self.say("announced \(service.kind.rawValue) \(name)")
      case .unavailable(let error): Self.say("unavailable \(error)")
      }
    }
    announcer.announce(try Service(stream: arguments[2], kind: .http, port: http, host: arguments[3]))
    announcer.announce(try Service(stream: arguments[2], kind: .rtsp, port: rtsp, host: arguments[3]))
    while readLine() != nil {}
    await announcer.stop()
    Self.say("stopped")
  }

  private static func say(_ line: String) {
    let bytes = Array("\(line)\n".utf8)
    _ = write(STDOUT_FILENO, bytes, bytes.count)
  }
}
