import FuzzEntry

@main
enum FuzzSpecification {
  static func main() {
    fuzz(.specification)
  }
}
