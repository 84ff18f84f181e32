// swift-tools-version: 6.2

import PackageDescription

let settings: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
  .treatAllWarnings(as: .error),
]

let nioCore: Target.Dependency = .product(name: "NIOCore", package: "swift-nio")

let package = Package(
  name: "vidicon",
  platforms: [.macOS(.v15), .iOS(.v18)],
  products: [
    .library(name: "Media", targets: ["Media"]),
    .library(name: "Bitstreams", targets: ["Bitstreams"]),
    .library(name: "RTP", targets: ["RTP"]),
    // For the package FuzzTesting only.
    .library(name: "_FuzzBodies", targets: ["FuzzBodies"]),
    .library(name: "RTSP", targets: ["RTSP"]),
    .library(name: "Capture", targets: ["Capture"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.2"),
    .package(url: "https://github.com/apple/swift-crypto.git", from: "4.5.2"),
  ],
  targets: [
    // The pure floor: bytes and state machines. No socket, clock, task or file.
    .target(name: "Media", dependencies: [nioCore], swiftSettings: settings),
    .target(name: "Bitstreams", dependencies: ["Media", nioCore], swiftSettings: settings),
    .target(name: "RTP", dependencies: ["Bitstreams", "Media", nioCore], swiftSettings: settings),
    .target(
      name: "RTSP", dependencies: ["Media", nioCore, .product(name: "Crypto", package: "swift-crypto")],
      swiftSettings: settings),

    // Engines: threads, codecs, devices.
    .target(name: "Capture", dependencies: ["Media", "CLibav"], swiftSettings: settings),

    // Libraries of the system.
    .systemLibrary(
      name: "CLibav", pkgConfig: "libavformat",
      providers: [.apt(["libavformat-dev", "libswscale-dev", "libswresample-dev"]), .brew(["ffmpeg"])]),
    .systemLibrary(name: "CYUV", providers: [.apt(["libyuv-dev"]), .brew(["libyuv"])]),

    .testTarget(name: "MediaTests", dependencies: ["Media"], swiftSettings: settings),
    .testTarget(name: "BitstreamsTests", dependencies: ["Bitstreams", "Media", nioCore], swiftSettings: settings),

    // What is fuzzed: fed by FuzzTesting, replayed by a unit test.
    .target(
      name: "FuzzBodies", dependencies: ["Bitstreams", "Media", "RTP", "RTSP", nioCore], path: "Tests/FuzzBodies",
      swiftSettings: settings),
    .testTarget(name: "FuzzBodiesTests", dependencies: ["FuzzBodies", nioCore], swiftSettings: settings),
    .testTarget(name: "RTPTests", dependencies: ["RTP", "Bitstreams", "Media", nioCore], swiftSettings: settings),
    .testTarget(name: "RTSPTests", dependencies: ["RTSP", "Media", nioCore], swiftSettings: settings),
  ]
)
