import FuzzEntry

@main
enum FuzzY4M {
  static func main() {
    fuzz(.y4m)
  }
}
