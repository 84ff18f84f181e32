// The page with the server's certificate authority, at /ca: shows the fingerprint, which is the entity tag of the certificate.

// fetch rejects URLs with credentials, which the base URL of a page opened with NAME:PASSWORD@ has; `location` has none.
const response = await fetch(new URL("/ca?form=der", location.href), { method: "HEAD" });
document.getElementById("fingerprint").textContent = response.headers.get("ETag")?.replaceAll('"', "") ?? "";
document.getElementById("problem").hidden = location.protocol === "https:";
