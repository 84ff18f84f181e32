import FuzzEntry

@main
enum FuzzHLS {
  static func main() {
    fuzz(.hls)
  }
}
