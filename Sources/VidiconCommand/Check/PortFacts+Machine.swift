import CaptureDevices
import Foundation
import Libc
import RTSPServer
import Serving
import Vidicon

extension PortFacts {
  /// Opens and closes each port of a configuration.
  ///
  /// - Parameter served: The ports that this program has open; nil where it does not serve.
  init(_ configuration: ServeConfiguration, served: CameraServerPorts? = nil) {
    self.init(bind: configuration.bind, ports: Self.ports(of: configuration))
    for index in self.ports.indices { self.ports[index].note(served) }
    for index in self.ports.indices where self.ports[index].number != 0 && self.ports[index].state != .served {
      self.ports[index].state = Self.state(of: self.ports[index], bind: configuration.bind)
    }
  }

  /// The ports that `serve` opens, with the numbers that it tries first.
  static func ports(of configuration: ServeConfiguration) -> [Port] {
    let settings = CameraServerSettings(configuration)
    var ports = [
      Port(
        service: "RTSP", option: "--rtsp-port", number: settings.rtsp.port, isGiven: configuration.rtspPort != nil)
    ]
    if let tls = settings.rtsp.tls {
      ports.append(Port(service: "RTSPS", option: "--rtsps-port", number: tls.port, isGiven: true))
    }
    if let http = settings.http {
      ports.append(
        Port(service: "HTTP", option: "--http-port", number: http.port, isGiven: configuration.httpPort != nil))
      if let tls = http.tls {
        ports.append(
          Port(service: "HTTPS", option: "--https-port", number: tls.port, isGiven: configuration.httpsPort != nil))
      }
    }
    if let port = settings.rtmp?.port {
      ports.append(
        Port(service: "RTMP", option: "--rtmp-port", number: port, isGiven: configuration.rtmpPort != nil))
    }
    if let tls = settings.rtmp?.tls {
      ports.append(Port(service: "RTMPS", option: "--rtmps-port", number: tls.port, isGiven: true))
    }
    if let webRTC = settings.webRTC {
      let isGiven = configuration.webRTCPort != nil
      for transport in webRTC.port == 0 ? [Transport.udp] : [.udp, .tcp] {
        ports.append(
          Port(
            service: "WebRTC", option: "--webrtc-port", number: webRTC.port, isGiven: isGiven, transport: transport))
      }
    }
    return ports
  }

  /// Opens a port for a moment; of one in use, looks for the program.
  static func state(of port: Port, bind: String?) -> State {
    let number = Self.errorOfOpening(port.number, port.transport, address: TCPListener.boundAddress(bind))
    switch number {
    case 0: return .free
    case EADDRINUSE: return .inUse(by: PortHolder(of: port))
    case EACCES, EPERM: return .notPermitted
    case EADDRNOTAVAIL: return .noAddress
    default: return .failed(String(cString: strerror(number)))
    }
  }

  /// Binds a socket as the server does, and closes it; returns the value of `errno`, 0 where that succeeds.
  ///
  /// - Parameter isShared: Whether a port of UDP may be that of another program, which shares it.
  static func errorOfOpening(
    _ port: Int, _ transport: Transport, address text: String, isShared: Bool = false
  ) -> Int32 {
    var hints = addrinfo()
    hints.ai_flags = AI_NUMERICHOST | AI_PASSIVE
    #if canImport(Darwin)
    hints.ai_socktype = transport == .udp ? SOCK_DGRAM : SOCK_STREAM
    #else
    hints.ai_socktype = Int32((transport == .udp ? SOCK_DGRAM : SOCK_STREAM).rawValue)
    #endif
    var address: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(text, "\(port)", &hints, &address) == 0, let address else { return EADDRNOTAVAIL }
    defer { freeaddrinfo(address) }
    let entry = address.pointee
    let descriptor = socket(entry.ai_family, entry.ai_socktype, 0)
    guard descriptor >= 0 else { return errno }
    defer { close(descriptor) }
    if transport == .tcp || isShared {
      // Connections over TCP that were closed lately do not keep the port, as for the server.
      var option: Int32 = 1
      setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &option, socklen_t(MemoryLayout<Int32>.size))
    }
    #if canImport(Darwin)
    let status = Darwin.bind(descriptor, entry.ai_addr, entry.ai_addrlen)
    #else
    let status = Glibc.bind(descriptor, entry.ai_addr, entry.ai_addrlen)
    #endif
    return status == 0 ? 0 : errno
  }
}

extension PortFacts.Port {
  /// Records whether this program serves on it, and its number where any would do.
  fileprivate mutating func note(_ served: CameraServerPorts?) {
    let own =
      switch self.service {
      case "RTSP": served?.rtsp
      case "RTSPS": served?.rtsps
      case "HTTP": served?.http
      case "HTTPS": served?.https
      case "RTMP": served?.rtmp
      case "RTMPS": served?.rtmps
      default: served?.webRTC
      }
    guard let own, self.number == own || self.number == 0 else { return }
    (self.number, self.state) = (own, .served)
  }
}

extension PortHolder {
  /// The program that has a port; nil where it is not visible to this user, or on a system without /proc.
  ///
  /// Holders of other users are visible to root only. A vidicon of the user that has opened the port is taken for it, except of root, whose
  /// programs are many.
  init?(of port: PortFacts.Port) {
    #if os(Linux)
    let sockets = SocketTable.socketsOfMachine(port: port.number, port.transport)
    if let visible = PortHolder(of: sockets) {
      self = visible
      return
    }
    let service = sockets.lazy.filter { $0.user != 0 }
      .compactMap { DeviceHolder.findOther(name: Self.ownName, user: $0.user) }.first
    guard let service else { return nil }
    self.init(process: service.process, name: service.name)
    #else
    return nil
    #endif
  }

  #if os(Linux)
  /// The program that has the first of the sockets whose holder is visible to this user; nil where none is.
  init?(of sockets: [SocketTable.Socket]) {
    guard let holder = sockets.lazy.compactMap({ DeviceHolder.find(socketInode: $0.inode) }).first else { return nil }
    self.init(process: holder.process, name: holder.name)
  }
  #endif
}
