import FuzzEntry

@main
enum FuzzSDP {
  static func main() {
    fuzz(.sdp)
  }
}
