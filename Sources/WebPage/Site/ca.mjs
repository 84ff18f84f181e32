// The page with the server's certificate authority, at /ca: shows the fingerprint, which is the entity tag of the certificate.

import { urlOf } from "./root.mjs";

const response = await fetch(urlOf("ca?form=der"), { method: "HEAD" });
document.getElementById("fingerprint").textContent = response.headers.get("ETag")?.replaceAll('"', "") ?? "";
document.getElementById("problem").hidden = location.protocol === "https:";
