/// Parts of a check, in the order of the report.
enum CheckPart: String, CaseIterable, Sendable {
  case configuration, ports, addresses, firewall, discovery, cameras, microphones, screen, encoder, models, recordings,
    clock, certificates, files
}
