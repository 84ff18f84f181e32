/// What libFuzzer, whose `main` the program has, calls for each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzRTSP(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  RTSPFuzzCase(Array(UnsafeBufferPointer(start: bytes, count: count))).run()
  return 0
}
