import FuzzEntry

@main
enum FuzzRTP {
  static func main() {
    fuzz(.rtp)
  }
}
