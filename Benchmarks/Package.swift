// swift-tools-version: 6.2

// Measuring programs that link the libraries; `Benchmarks/run` builds and runs them.

import PackageDescription

let package = Package(
  name: "Benchmarks",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "vidicon", path: ".."),
    .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.2"),
  ],
  targets: [
    .executableTarget(
      name: "mux",
      dependencies: [
        .product(name: "Codecs", package: "vidicon"), .product(name: "Containers", package: "vidicon"),
        .product(name: "Media", package: "vidicon"), .product(name: "NIOCore", package: "swift-nio"),
      ], path: "Mux", swiftSettings: [.swiftLanguageMode(.v6)]),
    .executableTarget(
      name: "inference", dependencies: [.product(name: "Inference", package: "vidicon")], path: "Inference",
      swiftSettings: [.swiftLanguageMode(.v6)]),
    // Counts heap allocations of the program that it is linked into.
    .target(name: "CAllocations", path: "CAllocations"),
    .executableTarget(
      name: "faces",
      dependencies: [
        "CAllocations", .product(name: "Effects", package: "vidicon"), .product(name: "Media", package: "vidicon"),
      ], path: "Faces", swiftSettings: [.swiftLanguageMode(.v6)]),
  ]
)
