import FuzzEntry

@main
enum FuzzSession {
  static func main() {
    fuzz(.session)
  }
}
