// swift-tools-version: 6.2

// One executable for each fuzz body of the main package; `scripts/fuzz TARGET [SECONDS]` builds and runs one.
// The sanitizers' flags are given there, since they must reach the parsers in the main package too.

import PackageDescription

let fuzzTargets = [
  "FuzzSDP", "FuzzRTP", "FuzzRTCP", "FuzzH264Depacketizer", "FuzzAACDepacketizer", "FuzzSPS",
  "FuzzRTMP", "FuzzAMF", "FuzzFLV", "FuzzSTUN", "FuzzSRTP", "FuzzOffer", "FuzzSession",
  "FuzzRTSP", "FuzzHLS", "FuzzHTTP", "FuzzAccess", "FuzzControl", "FuzzTransportStream", "FuzzMP4", "FuzzRecording",
  "FuzzRepair", "FuzzTFLite",
  "FuzzPNG", "FuzzEffects", "FuzzSpecification", "FuzzY4M", "FuzzJPEG",
  "FuzzCamera", "FuzzPacket", "FuzzDeviceReply", "FuzzConfiguration",
]

let package = Package(
  name: "FuzzTesting",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "vidicon", path: ".."),
    .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.2"),
  ],
  targets: [
    // Passes the arguments to libFuzzer, since SwiftPM renames an executable's main function.
    .target(name: "FuzzDriver"),
    .target(
      name: "FuzzEntry",
      dependencies: [
        "FuzzDriver", .product(name: "_FuzzBodies", package: "vidicon"),
        .product(name: "NIOCore", package: "swift-nio"),
      ]),
  ]
    + fuzzTargets.map {
      // The default linker, gold, fails with an internal error on a fuzzer that links the BoringSSL of swift-nio-ssl.
      .executableTarget(
        name: $0, dependencies: ["FuzzEntry"],
        linkerSettings: [.unsafeFlags(["-use-ld=lld"], .when(platforms: [.linux]))])
    }
)
