/// Floor of a target: its distance from devices, files and networks.
enum Floor: Comparable {
  /// Bytes and state machines: no socket, clock, task or file; time and chance are arguments.
  case pure
  /// Threads, codecs, devices.
  case engine
  /// Sockets, and the program.
  case edge

  /// The targets in Sources that are written in Swift, each with its floor. A target imports only those before it.
  static let rooms: KeyValuePairs<String, Floor> = [
    "Cryptography": .pure,
    "Media": .pure,
    "Bitstreams": .pure,
    "Containers": .pure,
    "HLS": .pure,
    "RTP": .pure,
    "Authentication": .pure,
    "RTSP": .pure,
    "RTMP": .pure,
    "WebRTC": .pure,
    "Pushing": .pure,
    "WebPage": .pure,
    "Libc": .engine,
    "Threading": .engine,
    "Capture": .engine,
    "Codecs": .engine,
    "CaptureDevices": .engine,
    "MediaInput": .engine,
    "Inference": .engine,
    "Effects": .engine,
    "Streaming": .engine,
    "Recording": .engine,
    "StreamControl": .engine,
    "Serving": .edge,
    "RTSPServer": .edge,
    "RTMPServer": .edge,
    "WebRTCServer": .edge,
    "HTTPServer": .edge,
    "HLSServer": .edge,
    "ControlAPI": .edge,
    "Discovery": .edge,
    "Vidicon": .edge,
    "VidiconCommand": .edge,
    "VidiconMain": .edge,
  ]

  /// The only modules of others that a pure target imports.
  static let modulesForPure: Set<String> = ["CCryptography", "CDocuments", "NIOCore", "Synchronization"]

  /// Modules that reach the network or the user.
  static let modulesForEdges: Set<String> = ["ArgumentParser", "NIO", "NIOPosix", "NIOSSL", "Yams"]

  /// C modules that only some targets import, so that others do not link X11, ALSA or libav, name the C library once, and call libcrypto
  /// through one room.
  static let roomsOfModules: [String: Set<String>] = [
    "CALSA": ["CaptureDevices"],
    "CCryptography": ["Cryptography"],
    "CConnectGuard": ["MediaInput"],
    "CDTLS": ["WebRTCServer"],
    "Darwin": ["Libc"],
    "Glibc": ["Libc"],
    "Musl": ["Libc"],
    "CV4L2": ["CaptureDevices"],
    "CXCB": ["CaptureDevices"],
    "CLibav": ["CaptureDevices", "Codecs", "MediaInput"],
  ]
}
