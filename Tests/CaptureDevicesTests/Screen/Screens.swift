import Testing

/// What captures from an X server, one test at a time.
@Suite("Screens", .serialized)
enum Screens {}
