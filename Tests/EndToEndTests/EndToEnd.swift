import Testing

/// Real clients against the built program.
///
/// Tests run side by side within the limits of ``MachineShare``. Each has its own ports, folders, displays and network
/// namespaces.
@Suite("End to end", .machineShare(limit: .seconds(3600)))
enum EndToEnd {}
