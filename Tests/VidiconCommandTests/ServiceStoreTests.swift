import Foundation
import HTTPServer
import NIOCore
import Serving
import Synchronization
import TestSupport
import Testing
import Vidicon

@testable import VidiconCommand

@Suite("Store of the service manager for the next run", .timeLimit(.minutes(5)))
struct ServiceStoreTests {
  private static func settings() -> CameraServerSettings {
    CameraServerSettings(rtsp: RTSPServerSettings(port: 0), http: HTTPServerSettings(port: 0), isAnnounced: false)
  }

  private static func service(_ manager: PlayedServiceManager, descriptors: Int = 16) throws -> ServiceManager {
    try #require(ServiceManager(environment: ["NOTIFY_SOCKET": manager.path, "FDSTORE": "\(descriptors)"]))
  }

  /// Listens on a port that the system chooses.
  private static func listen() throws -> (descriptor: Int32, port: Int) {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let result = withUnsafePointer(to: address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    try #require(result == 0 && Glibc.listen(descriptor, 16) == 0)
    return (descriptor, try #require(PassedSocket(.init(number: descriptor, name: "a"))).port)
  }

  private static func error(ofOpening port: Int) -> Int32 {
    PortFacts.errorOfOpening(port, .tcp, address: "127.0.0.1")
  }

  /// Segments in a file, as the last run has left them.
  private static func segments(_ text: String) throws -> ListenDescriptors.Descriptor {
    let file = try #require(MemoryFile.make())
    try #require(MemoryFile.write(ByteBuffer(string: text), to: file))
    return .init(number: file, name: "vidicon.hls")
  }

  @Test func `a released port can be opened, also where the service manager closes it late`() async throws {
    let manager = try PlayedServiceManager()
    let service = try Self.service(manager)
    let (descriptor, port) = try Self.listen()
    let copy = dup(descriptor)
    let isClosed = Mutex(false)
    let closing = Task {
      try await eventually {
        guard manager.messages().contains(["FDSTOREREMOVE=1", "FDNAME=vidicon.http.\(port)"]) else { return false }
        // The program has closed its own.
        #expect(Self.error(ofOpening: port) == EADDRINUSE)
        isClosed.withLock { $0 = true }
        close(copy)
        return true
      }
    }
    let store = await ServiceStore(
      [.init(number: descriptor, name: "vidicon.http.\(port)")], of: service, settings: Self.settings(),
      address: "127.0.0.1", closingLimit: .seconds(300))
    #expect(isClosed.withLock { $0 } && store.sockets.inheritedRoles.isEmpty)
    try await closing.value
  }

  @Test func `a service manager that keeps a port for itself is waited for with a limit`() async throws {
    let manager = try PlayedServiceManager()
    let service = try Self.service(manager)
    let (descriptor, port) = try Self.listen()
    let copy = dup(descriptor)
    defer { close(copy) }
    _ = await ServiceStore(
      [.init(number: descriptor, name: "vidicon.http.\(port)")], of: service, settings: Self.settings(),
      address: "127.0.0.1", closingLimit: .milliseconds(30))
    #expect(Self.error(ofOpening: port) == EADDRINUSE)
  }

  @Test func `a socket in place of a port in use is released once that is free`() async throws {
    let manager = try PlayedServiceManager()
    let service = try Self.service(manager)
    /// Whether another socket is used in place of that of a port.
    func isUsed(whileInUse: Bool) async throws -> Bool {
      let (wanted, other) = (try Self.listen(), try Self.listen())
      var settings = Self.settings()
      settings.http = HTTPServerSettings(port: wanted.port)
      settings.http?.alternativePorts = [0]
      if !whileInUse { close(wanted.descriptor) }
      let store = await ServiceStore(
        [.init(number: other.descriptor, name: "vidicon.http.\(wanted.port)")], of: service, settings: settings,
        address: "127.0.0.1", closingLimit: .zero)
      if whileInUse { close(wanted.descriptor) }
      guard let socket = store.sockets.take(.http) else { return false }
      close(socket)
      return true
    }
    #expect(try await isUsed(whileInUse: true))
    // Another process may take a port at once.
    var isLeft = false
    for _ in 0..<20 where !isLeft { isLeft = try await !isUsed(whileInUse: false) }
    #expect(isLeft)
  }

  @Test func `segments are taken once, and forgotten once streams are served`() async throws {
    let manager = try PlayedServiceManager()
    let (service, file) = (try Self.service(manager), try Self.segments("segments"))
    var store = await ServiceStore([file], of: service, settings: Self.settings(), address: nil)
    let taken = [store.takeSegments(), store.takeSegments()]
    #expect(taken == [ByteBuffer(string: "segments"), nil] && store.lines == [])
    #expect(manager.messages() == [], "a start that fails leaves them to the next run")
    store.forgetSegments()
    #expect(manager.messages() == [["FDSTOREREMOVE=1", "FDNAME=vidicon.hls"]])
  }

  @Test func `segments that cannot be read are said, and forgotten`() async throws {
    let manager = try PlayedServiceManager()
    let (service, file) = (try Self.service(manager), try Self.segments(""))
    var store = await ServiceStore([file], of: service, settings: Self.settings(), address: nil)
    let taken = store.takeSegments()
    #expect(taken == nil && store.lines.count == 1)
    store.forgetSegments()
    #expect(manager.messages() == [["FDSTOREREMOVE=1", "FDNAME=vidicon.hls"]])
  }

  @Test func `segments are left where the service manager has a place beside all sockets`() async throws {
    let manager = try PlayedServiceManager()
    // Two ports.
    for (places, isKept) in [(0, false), (2, false), (3, true)] {
      let service = try Self.service(manager, descriptors: places)
      let store = await ServiceStore([], of: service, settings: Self.settings(), address: nil)
      #expect(store.keepsSegments == isKept && store.lines.count == (places == 2 ? 1 : 0))
      #expect(store.keep(segments: ByteBuffer(string: "segments")) == isKept)
    }
    let (message, descriptor) = try #require(manager.messageWithDescriptor())
    defer { close(descriptor) }
    #expect(message.contains("FDNAME=vidicon.hls"))
    #expect(MemoryFile.read(descriptor, maximumLength: 100) == ByteBuffer(string: "segments"))
  }
}
