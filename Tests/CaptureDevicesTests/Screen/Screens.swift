import Testing

/// Tests that capture from an X server, one at a time.
@Suite("Screens", .serialized)
enum Screens {}
