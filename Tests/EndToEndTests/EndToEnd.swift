import Testing

/// Real players against the built program.
///
/// One test runs at a time, so that the machine is never busier than a test makes it; inside a test several players
/// run at once.
@Suite("End to end", .serialized)
enum EndToEnd {}
