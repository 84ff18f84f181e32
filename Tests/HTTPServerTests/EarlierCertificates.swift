/// The files of a start on 2026-11-28 whose keys and certificates swift-certificates 1.21 made: phones trust such authorities. The keys
/// are of no use, since no device has this one.
enum EarlierCertificates {
  /// `authority-key.pem`.
  static let authority = """
    -----BEGIN PRIVATE KEY-----
    MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgjBMeEPZka+KWp8J2
    P+/ctuZ9NzBxnB+83+1EQk66tjWhRANCAATHj6GnAo8+C8d6qomGpsh1sb/fvbO0
    4iObQsNqjDOxADbefje9RLlYqMfVhvkYGjebh+OXukBfLo0XxUyuRMba
    -----END PRIVATE KEY-----
    -----BEGIN CERTIFICATE-----
    MIIChDCCAimgAwIBAgIVAMSwQZJw2iglfG22asRx5yqQSWh0MAoGCCqGSM49BAMC
    MCgxJjAkBgNVBAMMHVZpZGljb24gYXV0aG9yaXR5IG9mIHZtLmxvY2FsMB4XDTI2
    MTEyNzE4MTc0OFoXDTM2MTEyNDE4MTc0OFowKDEmMCQGA1UEAwwdVmlkaWNvbiBh
    dXRob3JpdHkgb2Ygdm0ubG9jYWwwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAATH
    j6GnAo8+C8d6qomGpsh1sb/fvbO04iObQsNqjDOxADbefje9RLlYqMfVhvkYGjeb
    h+OXukBfLo0XxUyuRMbao4IBLjCCASowEgYDVR0TAQH/BAgwBgEB/wIBADAOBgNV
    HQ8BAf8EBAMCAgQwgc8GA1UdHgEB/wSBxDCBwaCBvjALgglsb2NhbGhvc3QwB4IF
    bG9jYWwwCocIfwAAAP8AAAAwCocICgAAAP8AAAAwCocIrBAAAP/wAAAwCocIwKgA
    AP//AAAwCocIqf4AAP//AAAwIocgAAAAAAAAAAAAAAAAAAAAAf//////////////
    //////8wIocg/AAAAAAAAAAAAAAAAAAAAP4AAAAAAAAAAAAAAAAAAAAwIocg/oAA
    AAAAAAAAAAAAAAAAAP/AAAAAAAAAAAAAAAAAAAAwEwYDVR0lBAwwCgYIKwYBBQUH
    AwEwHQYDVR0OBBYEFMS+0Q1M5K4bMlsCSHwCVmwuXB4aMAoGCCqGSM49BAMCA0kA
    MEYCIQDqGVYLxYC6TJdHi41xBgwCI4mRMEu4g0NrZF54APzhNQIhAMYu7f2LKxLm
    VpZ6Bmgfd8jaN1h3nZpdDqHwy5t0JSDL
    -----END CERTIFICATE-----

    """

  /// SHA-256 of the authority's certificate.
  static let fingerprint =
    "D1:82:41:7C:9B:97:C8:53:A1:C0:68:63:B7:5F:08:B5:BE:B6:3F:05:CD:10:CD:02:BA:CB:3C:49:EF:64:3E:C5"

  /// `certificate.pem`.
  static let certificate = """
    -----BEGIN CERTIFICATE-----
    MIICCTCCAa+gAwIBAgIULUcvBOrwotq6nLAfJKT8bqyZwTowCgYIKoZIzj0EAwIw
    KDEmMCQGA1UEAwwdVmlkaWNvbiBhdXRob3JpdHkgb2Ygdm0ubG9jYWwwHhcNMjYx
    MTI3MTgxNzQ4WhcNMjcxMjI5MTgxNzQ3WjAeMRwwGgYDVQQDDBNWaWRpY29uIG9u
    IHZtLmxvY2FsMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEHV0EZ2tybiOgvHus
    tgfF23JYKX1dt/+aoNijfJX/IQp/tU3hpXYdLdK8V3e5ZUZj9q9vFYgfiYGnvr0f
    wlEwF6OBwDCBvTAMBgNVHRMBAf8EAjAAMA4GA1UdDwEB/wQEAwIHgDATBgNVHSUE
    DDAKBggrBgEFBQcDATBIBgNVHREEQTA/gglsb2NhbGhvc3SCCHZtLmxvY2FshwR/
    AAABhxAAAAAAAAAAAAAAAAAAAAABhxD9AAAAAAAAAAAAAAAAAAACMB8GA1UdIwQY
    MBaAFMS+0Q1M5K4bMlsCSHwCVmwuXB4aMB0GA1UdDgQWBBRCupUAMSHqYvoPh4Pp
    naKdzuXIWzAKBggqhkjOPQQDAgNIADBFAiEA2EPdjs9I/myWvpYcDjm9Xx84Bv9z
    Kzy9H7ylOS4cfyACIAVeV+nklxwWStq4/uKG7bVzCB7bbELOfCmqQVe9CR3/
    -----END CERTIFICATE-----

    """

  /// `certificate-key.pem`.
  static let key = """
    -----BEGIN PRIVATE KEY-----
    MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg8G3ssyWDhMhFMQW4
    O/HeiuVolRNOqI7CbaUPq/30sq6hRANCAAQdXQRna3JuI6C8e6y2B8XbclgpfV23
    /5qg2KN8lf8hCn+1TeGldh0t0rxXd7llRmP2r28ViB+Jgae+vR/CUTAX
    -----END PRIVATE KEY-----

    """
}
