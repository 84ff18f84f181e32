import FuzzBodies
import FuzzDriver
import NIOCore

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// The body that this process runs: libFuzzer's callback takes no context.
nonisolated(unsafe) private var body = FuzzBody.sdp  // Safe because it is set once, before the fuzzer starts.

/// Runs a body on the inputs that libFuzzer makes of the process's arguments, and exits.
public func fuzz(_ chosen: FuzzBody) -> Never {
  body = chosen
  let status = fuzz_run(CommandLine.argc, CommandLine.unsafeArgv) { data, size in
    body.run(ByteBuffer(bytes: UnsafeRawBufferPointer(start: data, count: size)))
    return 0
  }
  exit(status)
}
