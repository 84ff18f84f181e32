/// Parts of a check, in the order of the report: those of this machine, and those of a stream.
enum CheckPart: String, CaseIterable, Sendable {
  case configuration, ports, addresses, firewall, discovery, cameras, microphones, screen, encoder, models, recordings,
    clock
  case clients, connection
  /// Of this machine, or of the server of a stream.
  case certificates
  case files
  case login, tracks, video, audio, timing, transport, playlist, web
}
