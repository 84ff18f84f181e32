import FuzzEntry

@main
enum FuzzRTCP {
  static func main() {
    fuzz(.rtcp)
  }
}
