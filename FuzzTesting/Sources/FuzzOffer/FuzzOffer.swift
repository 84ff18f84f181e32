import FuzzEntry

@main
enum FuzzOffer {
  static func main() {
    fuzz(.offer)
  }
}
