import Testing

@Suite("Dependencies of targets")
struct PackageManifestTests {
  @Test func `dependencies are read from the manifest, and theirs are linked too`() {
    let manifest = PackageManifest(
      text: """
        let nio: Target.Dependency = .product(name: "NIOCore", package: "swift-nio")
        let xcb: Target.Dependency = .target(name: "CXCB", condition: .when(platforms: [.linux]))
        let package = Package(
          products: [.library(name: "A", targets: ["A"]), .library(name: "_B", targets: ["B"])],
          targets: [
            // .target(name: "Old", dependencies: ["A"]),
            .target(name: "A", dependencies: ["B", nio, .product(name: "C", package: "c")], swiftSettings: settings),
            .target(
              name: "B",
              dependencies: [
                "Yams", xcb,
                .target(name: "CALSA", condition: .when(platforms: [.linux])),
              ], path: "Tests/B"),
            .systemLibrary(name: "CXCB", providers: [.apt(["libxcb1-dev", "C"])]),
            .systemLibrary(name: "CALSA"), .target(name: "C"),
          ]
        )
        """)
    #expect(manifest.dependencies == ["A": ["B"], "B": ["CXCB", "CALSA"], "CXCB": [], "CALSA": [], "C": []])
    #expect(manifest.closure(of: "A") == ["B", "CXCB", "CALSA"])
    #expect(manifest.libraries == ["A"])
    #expect(
      manifest.declarations["A"] == ["B", "NIOCore", "C"] && manifest.declarations["B"]?.contains("Yams") == true)
    #expect(
      manifest.folders == [
        "A": "Sources/A", "B": "Tests/B", "CXCB": "Sources/CXCB", "CALSA": "Sources/CALSA", "C": "Sources/C",
      ])
  }

  @Test func `dependencies that no file imports, and programs that none runs, are found`() {
    let manifest = PackageManifest(
      text: """
        let nio: Target.Dependency = .product(name: "NIOCore", package: "swift-nio")
        let package = Package(
          targets: [
            .testTarget(name: "A", dependencies: ["B", "C", "Probe", "Other", nio, .product(name: "D", package: "d")]),
            .target(name: "B"), .target(name: "C"),
          ]
        )
        """)
    let file = SwiftText(
      path: "A.swift",
      text: """
        // import C
        @testable import B
        internal import struct D.E
        let probe = try BuiltProgram("Probe")
        """)
    #expect(manifest.unusedDependencies { $0 == "Tests/A" ? [file] : [] } == ["A": ["C", "NIOCore", "Other"]])
  }

  @Test func `no target declares a dependency that it does not use`() throws {
    let manifest = try PackageManifest.ofRepository()
    #expect(manifest.declarations.count > 1)
    #expect(try manifest.unusedDependencies { try Repository.swiftFiles(in: $0) } == [:])
  }

  @Test func `each room declares the targets that it imports`() throws {
    let manifest = try PackageManifest.ofRepository()
    for room in try Repository.rooms() {
      let imports = Set(try Repository.swiftFiles(in: "Sources/\(room)").flatMap { $0.imports.map(\.module) })
      let declared = try #require(manifest.dependencies[room])
      #expect(imports.intersection(manifest.dependencies.keys).subtracting(declared) == [], "\(room)")
    }
  }

  @Test func `only the program and its public face link the libraries of devices`() throws {
    let manifest = try PackageManifest.ofRepository()
    let libraries: Set = ["CALSA", "CV4L2", "CXCB"]
    let linking = try Repository.rooms().filter { !manifest.closure(of: $0).isDisjoint(with: libraries) }
    #expect(Set(linking) == ["CaptureDevices", "Vidicon", "VidiconCommand", "VidiconMain"])
    #expect(manifest.closure(of: "Vidicon").isSuperset(of: libraries))
  }

  @Test func `no target declares another library of cryptography than OpenSSL`() throws {
    let manifest = try PackageManifest.ofRepository()
    // They are a quarter of the first build, and libcrypto is linked anyway.
    let others: Set = ["Crypto", "CryptoExtras", "_CryptoExtras", "SwiftASN1", "X509"]
    #expect(manifest.declarations.filter { !$0.value.isDisjoint(with: others) }.keys.sorted() == [])
    let direct = manifest.dependencies.filter { $0.value.contains("COpenSSL") }.keys
    #expect(Set(direct) == ["CCryptography", "CDTLS"])
  }

  @Test func `only rooms that decode or read media declare libav`() throws {
    let declaring = try PackageManifest.ofRepository().dependencies.filter { $0.value.contains("CLibav") }.map(\.key)
    let rooms = try Set(declaring).intersection(Repository.rooms())
    #expect(rooms == Floor.roomsOfModules["CLibav"])
  }
}
