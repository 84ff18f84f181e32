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
    .library(name: "RTSP", targets: ["RTSP"]),
    .library(name: "Bitstreams", targets: ["Bitstreams"]),
    .library(name: "RTP", targets: ["RTP"]),
    .library(name: "Capture", targets: ["Capture"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.2"),
    .package(url: "https://github.com/apple/swift-crypto.git", from: "4.5.2"),
  ],
  targets: [
    // The pure floor: bytes and state machines. No socket, clock, task or file.
    .target(name: "Media", dependencies: [nioCore], swiftSettings: settings),
    .target(
      name: "RTSP", dependencies: ["Media", nioCore, .product(name: "Crypto", package: "swift-crypto")],
      swiftSettings: settings),
    .target(name: "Bitstreams", dependencies: ["Media", nioCore], swiftSettings: settings),
    .target(name: "RTP", dependencies: ["Bitstreams", "Media", nioCore], swiftSettings: settings),

    // Engines: threads, codecs, devices.
    .target(name: "Capture", dependencies: ["Media", "CLibav", "CCapture"], swiftSettings: settings),
    .target(name: "CCapture"),

    // Libraries of the system.
    .systemLibrary(
      name: "CLibav", pkgConfig: "libavformat",
      providers: [.apt(["libavformat-dev", "libswscale-dev", "libswresample-dev"]), .brew(["ffmpeg"])]),
    .systemLibrary(name: "CYUV", providers: [.apt(["libyuv-dev"]), .brew(["libyuv"])]),

    .testTarget(name: "CaptureTests", dependencies: ["Capture", "Media"], swiftSettings: settings),
    .testTarget(name: "MediaTests", dependencies: ["Media"], swiftSettings: settings),
    .testTarget(name: "RTSPTests", dependencies: ["RTSP", "Media", nioCore], swiftSettings: settings),
    .testTarget(name: "BitstreamsTests", dependencies: ["Bitstreams", "Media", nioCore], swiftSettings: settings),
    .testTarget(name: "RTPTests", dependencies: ["RTP", "Bitstreams", "Media", nioCore], swiftSettings: settings),
  ]
)
