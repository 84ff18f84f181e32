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
let nioPosix: Target.Dependency = .product(name: "NIOPosix", package: "swift-nio")

let package = Package(
  name: "vidicon",
  platforms: [.macOS(.v15), .iOS(.v18)],
  products: [
    .library(name: "Media", targets: ["Media"]),
    .library(name: "Bitstreams", targets: ["Bitstreams"]),
    .library(name: "Containers", targets: ["Containers"]),
    .library(name: "RTP", targets: ["RTP"]),
    .library(name: "RTSP", targets: ["RTSP"]),
    .library(name: "Capture", targets: ["Capture"]),
    .library(name: "Codecs", targets: ["Codecs"]),
    .library(name: "Streaming", targets: ["Streaming"]),
    .library(name: "Recording", targets: ["Recording"]),
    .library(name: "RTSPServer", targets: ["RTSPServer"]),
    .library(name: "Vidicon", targets: ["Vidicon"]),
    .executable(name: "vidicon", targets: ["VidiconCommand"]),
    // For the package FuzzTesting only.
    .library(name: "_FuzzBodies", targets: ["FuzzBodies"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser.git", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-crypto.git", from: "4.5.2"),
    .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.2"),
    .package(url: "https://github.com/apple/swift-nio-ssl.git", from: "2.37.6"),
    .package(url: "https://github.com/jpsim/Yams.git", from: "6.2.2"),
  ],
  targets: [
    // The pure floor: bytes and state machines. No socket, clock, task or file.
    .target(name: "Media", dependencies: [nioCore], swiftSettings: settings),
    .target(name: "Bitstreams", dependencies: ["Media", nioCore], swiftSettings: settings),
    .target(name: "Containers", dependencies: ["Bitstreams", "Media", nioCore], swiftSettings: settings),
    .target(name: "RTP", dependencies: ["Bitstreams", "Media", nioCore], swiftSettings: settings),
    .target(
      name: "RTSP", dependencies: ["Media", nioCore, .product(name: "Crypto", package: "swift-crypto")],
      swiftSettings: settings),

    // Engines: threads, codecs, devices.
    .target(name: "Capture", dependencies: ["Media", "CLibav", "CYUV", "CCapture"], swiftSettings: settings),
    .target(name: "Codecs", dependencies: ["Media", "Bitstreams", "CLibav", "CYUV", nioCore], swiftSettings: settings),
    .target(
      name: "Streaming", dependencies: ["Media", "Capture", "Codecs", "CYUV", "CCapture", nioCore],
      swiftSettings: settings),
    .target(
      name: "Recording", dependencies: ["Media", "Bitstreams", "Containers", "Capture", "Streaming", nioCore],
      swiftSettings: settings),

    // Edges: sockets, and the program.
    .target(
      name: "RTSPServer",
      dependencies: [
        "Media", "Capture", "RTP", "RTSP", "Streaming", "CDatagrams", nioCore, nioPosix,
        .product(name: "NIOSSL", package: "swift-nio-ssl"),
      ], swiftSettings: settings),
    .target(
      name: "Vidicon",
      dependencies: ["Media", "Capture", "Codecs", "Streaming", "RTSPServer", nioCore],
      swiftSettings: settings),
    .executableTarget(
      name: "VidiconCommand",
      dependencies: [
        "Vidicon", "Media", "Capture", "Codecs", "Streaming", "RTSPServer", "Yams",
        .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ], swiftSettings: settings),

    // What Swift cannot say: pixel loops that must be fast in debug builds too, and system calls its modules lack.
    .target(name: "CCapture"),
    .target(name: "CDatagrams"),

    // Libraries of the system.
    .systemLibrary(
      name: "CLibav", pkgConfig: "libavformat",
      providers: [.apt(["libavformat-dev", "libswscale-dev", "libswresample-dev"]), .brew(["ffmpeg"])]),
    .systemLibrary(name: "CYUV", providers: [.apt(["libyuv-dev"]), .brew(["libyuv"])]),

    .testTarget(name: "MediaTests", dependencies: ["Media"], swiftSettings: settings),
    .testTarget(name: "BitstreamsTests", dependencies: ["Bitstreams", "Media", nioCore], swiftSettings: settings),
    .testTarget(
      name: "ContainersTests", dependencies: ["Containers", "Bitstreams", "Media", nioCore], swiftSettings: settings),
    .testTarget(name: "RTPTests", dependencies: ["RTP", "Bitstreams", "Media", nioCore], swiftSettings: settings),
    .testTarget(name: "RTSPTests", dependencies: ["RTSP", "Media", nioCore], swiftSettings: settings),
    .testTarget(name: "CaptureTests", dependencies: ["Capture", "Media"], swiftSettings: settings),
    .testTarget(name: "CodecsTests", dependencies: ["Codecs", "Media", nioCore], swiftSettings: settings),
    .testTarget(
      name: "StreamingTests", dependencies: ["Streaming", "Capture", "Codecs", "Media", nioCore],
      swiftSettings: settings),
    .testTarget(
      name: "RecordingTests",
      dependencies: [
        "Recording", "RecordingProbe", "Containers", "Capture", "Codecs", "Streaming", "Media", nioCore,
      ],
      swiftSettings: settings),
    // Records until it is killed, for RecordingTests.
    .executableTarget(
      name: "RecordingProbe", dependencies: ["Recording", "Capture", "Codecs", "Streaming", "Media", nioCore],
      path: "Tests/RecordingProbe", swiftSettings: settings),
    .testTarget(
      name: "RTSPServerTests", dependencies: ["RTSPServer", "CDatagrams", "RTP", "Media", nioCore],
      swiftSettings: settings),
    .testTarget(
      name: "VidiconCommandTests", dependencies: ["VidiconCommand", "Streaming", "Media"], swiftSettings: settings),

    // What is fuzzed: fed by FuzzTesting, replayed by a unit test.
    .target(
      name: "FuzzBodies", dependencies: ["Bitstreams", "Containers", "Media", "RTP", "RTSP", nioCore],
      path: "Tests/FuzzBodies", swiftSettings: settings),
    .testTarget(name: "FuzzBodiesTests", dependencies: ["FuzzBodies", nioCore], swiftSettings: settings),

    // What holds for the sources as a whole: floors, purity, sizes, reasons.
    .testTarget(name: "RepositoryTests", swiftSettings: settings),

    // Real players against the built program.
    .testTarget(name: "EndToEndTests", exclude: ["Clients"], swiftSettings: settings),
  ]
)
