import FuzzEntry

@main
enum FuzzSPS {
  static func main() {
    fuzz(.bitstreams)
  }
}
